// The table: both hands, the pile, the stock, and what has just been done.

import {back, face, inline} from './cards.js';
import {h} from './dom.js';

/** What there is to see: view is null for everything, or the seat whose knowledge is shown. */
export function table(hand, names, move, view, bottom) {
  const frame = hand.frames[move];
  const seats = [1 - bottom, bottom];
  const [far, near] = seats.map((seat) => player(hand, frame, names, seat, view));
  return [far, centre(hand, frame, view), near, said(frame, names, view)];
}

/** Whether a seat's cards are hidden in this position. */
export function hidden(frame, seat, view) {
  return view !== null && seat !== view && !frame.hands[seat].laid_down;
}

function player(hand, frame, names, seat, view) {
  const held = frame.hands[seat];
  const covered = hidden(frame, seat, view);
  const moves = frame.mover === seat;
  return h('section', {class: `player${moves ? ' moves' : ''}`, 'data-seat': seat,
    'aria-label': `Hand of ${names[seat]}`},
  h('header', null,
    h('span', {class: 'turn', 'aria-hidden': 'true'}, moves ? '▶' : ''),
    h('h2', null, names[seat]),
    hand.dealer === seat && h('span', {class: 'chip'}, 'dealer'),
    moves && h('span', {class: 'visually-hidden'}, 'on move'),
    h('span', {class: 'count'}, counted(held, covered))),
  h('div', {class: 'hand'}, covered ? coveredHand(frame, held) : openHand(frame, seat, held)));
}

function counted(held, covered) {
  if (covered) return `${size(held)} cards`;
  const after = held.least < held.points ? `, ${held.least} after the best discard` : '';
  return `deadwood ${held.points}${after}`;
}

function size(held) {
  return held.melds.flat().length + held.rest.length + (held.laid_off || []).length;
}

function openHand(frame, seat, held) {
  const mark = (card) => frame.mover === seat && card === frame.drawn ? drawnHow(frame) : null;
  const groups = held.melds.map((meld) => group(isRun(meld) ? 'run' : 'set', 'meld',
    meld.map((card) => face(card, mark(card)))));
  if (held.rest.length) {
    groups.push(group(`deadwood ${held.points}`, 'rest',
      held.rest.map((card) => face(card, mark(card)))));
  }
  if (held.laid_off && held.laid_off.length) {
    groups.push(group('laid off', 'off', held.laid_off.map((card) => face(card))));
  }
  return groups;
}

function coveredHand(frame, held) {
  const unknown = size(held) - held.known.length;
  const groups = [];
  if (held.known.length) {
    groups.push(group('seen taken', 'known', held.known.map((card) =>
      face(card, card === frame.drawn ? 'taken' : null))));
  }
  groups.push(group(`${unknown} face down`, 'down', Array.from({length: unknown}, () => back())));
  return groups;
}

function drawnHow(frame) {
  return frame.last && frame.last.what === 'take' ? 'taken' : 'drawn';
}

function isRun(meld) {
  return meld.every((card) => card[1] === meld[0][1]);
}

function group(caption, kind, cards) {
  return h('div', {class: `group ${kind}`},
    h('div', {class: 'cards'}, cards), h('small', null, caption));
}

function centre(hand, frame, view) {
  const last = frame.last || {};
  const thrown = last.what === 'discard' ? frame.pile.length - 1 : -1;
  const pile = frame.pile.map((card, at) => face(card, at === thrown ? 'thrown' : null));
  const knocked = last.what === 'knock';
  const known = view === null || view === last.seat;
  return h('section', {class: 'centre', 'aria-label': 'Stock and pile'},
    h('div', {class: 'group stock'},
      h('div', {class: 'cards'}, frame.stock ? back() : h('div', {class: 'card none'})),
      h('small', null, `stock ${frame.stock}`)),
    h('div', {class: 'group heap'},
      h('div', {class: 'pile', style: `--n: ${Math.max(pile.length - 1, 1)}`},
        pile.length ? pile : h('div', {class: 'card none'})),
      h('small', null, heap(hand, frame))),
    knocked && h('div', {class: 'group'},
      h('div', {class: 'cards'}, known ? face(last.card, 'thrown') : back('thrown')),
      h('small', null, 'face down')),
    h('dl', {class: 'limit'}, h('dt', null, 'knock at'), h('dd', null, hand.limit || 'gin')));
}

function heap(hand, frame) {
  const count = frame.pile.length;
  const first = frame.pile[0] === hand.upcard;
  const order = count > 1 ? ', oldest to newest' : '';
  return [`pile ${count}${order} · first upcard `, inline(hand.upcard), first ? '' : ' taken'];
}

/** What was done last, as a sentence. */
function said(frame, names, view) {
  return h('p', {class: 'said', 'aria-live': 'polite'}, sentence(frame, names, view));
}

function sentence(frame, names, view) {
  const last = frame.last;
  if (!last) return 'The cards are dealt.';
  const name = names[last.seat];
  const seen = view === null || view === last.seat;
  const card = last.card && inline(last.card);
  return {
    pass: [name, ' passes.'],
    take: [name, ' takes ', card, ' from the pile.'],
    stock: seen ? [name, ' draws ', card, ' from the stock.'] : [name, ' draws from the stock.'],
    discard: [name, ' discards ', card, '.'],
    knock: [name, frame.hands[last.seat].points ? ' knocks' : ' goes gin',
      seen ? [', throwing ', card, ' face down.'] : '.'],
    'big-gin': [name, ' has big gin.'],
    forfeit: [name, ' forfeits.'],
  }[last.what];
}
