// Beside the table: what the player on move thinks, how the hand ended, the score sheet.

import {action, inline} from './cards.js';
import {h, signed} from './dom.js';

const ON_MOVE = {
  offer: 'may take the upcard', 'dealer offer': 'may take the upcard',
  'must draw': 'must draw from the stock', draw: 'draws', 'last offer': 'may end the hand with the last discard',
  discard: 'discards or ends the hand', 'last discard': 'ends the hand',
};
const KINDS = {knock: 'knock', gin: 'gin', big_gin: 'big gin', undercut: 'undercut', tie: 'draw',
  dead: 'dead hand', forfeit: 'forfeit'};
const SHOWN = 6;

/** What is thought in this position, or how it ended. */
export function decision(hand, names, move, view) {
  const frame = hand.frames[move];
  if (frame.mover === null) return ending(hand, names, move, view);
  const name = names[frame.mover];
  return h('section', {class: 'panel decision'},
    h('h2', null, `${name} ${ON_MOVE[frame.phase]}`), thoughts(frame, name, view));
}

function thoughts(frame, name, view) {
  const thought = frame.thought;
  if (view !== null && view !== frame.mover) return h('p', {class: 'quiet'}, `Only ${name} knows.`);
  if (!thought) return h('p', {class: 'quiet'}, 'No probabilities were recorded for this move.');
  const top = thought.top.slice(0, SHOWN);
  const chosen = thought.chosen;
  if (!top.some(([words]) => words === chosen)) {
    top.push(thought.top.find(([words]) => words === chosen) || [chosen, null]);
  }
  return [h('table', {class: 'bars'},
    h('caption', {class: 'visually-hidden'}, 'Actions and their probabilities'),
    h('tbody', null, top.map((pair) => bar(pair, chosen)))),
  view === null && typeof thought.value === 'number' ? value(thought.value, name) : null];
}

function bar([words, chance], chosen) {
  const played = words === chosen;
  const percent = chance === null ? null : chance * 100;
  return h('tr', {class: played ? 'played' : null, 'data-action': words},
    h('th', {scope: 'row'}, action(words)),
    h('td', {class: 'track'}, h('span', {style: `width: ${percent || 0}%`})),
    h('td', {class: 'number'}, percent === null ? 'rare' : percent > 0 && percent < 1 ? '< 1 %'
      : `${Math.round(percent)} %`),
    h('td', {class: 'tick'}, played && h('span', {title: 'played', role: 'img', 'aria-label': 'played'}, '✓')));
}

/** Points to either side of nothing. */
function value(points, name) {
  const share = Math.min(Math.abs(points) / 50, 1) * 50;
  return h('div', {class: 'worth'},
    h('span', null, 'Value'),
    h('span', {class: 'scale'}, h('span', {class: points < 0 ? 'minus' : 'plus',
      style: `width: ${share}%; ${points < 0 ? 'right' : 'left'}: 50%`})),
    h('b', {class: 'points'}, signed(points)),
    h('small', null, `points that the hand is worth to ${name}, both hands known`));
}

function ending(hand, names, move, view) {
  const frame = hand.frames[move], result = hand.result;
  const open = view === null || frame.hands[0].laid_down;
  return h('section', {class: 'panel ending'},
    h('h2', null, KINDS[result.kind].replace(/^./, (letter) => letter.toUpperCase())),
    h('p', {class: 'why'}, hand.ending),
    open ? [0, 1].map((seat) => laid(frame.hands[seat], names[seat], result, seat)) : null);
}

function laid(held, name, result, seat) {
  const line = (word, cards) => cards.length
    ? h('div', null, h('dt', null, word), h('dd', null, cards.map((card) => [inline(card), ' '])))
    : null;
  return h('dl', {class: 'laid', 'data-seat': seat},
    h('div', {class: 'who'}, h('dt', null, name), h('dd', null, `deadwood ${result.deadwood[seat]}`)),
    (result.melds[seat].length ? held.melds : []).map((meld) => line('meld', meld)),
    line('laid off', held.laid_off || []),
    line('deadwood', held.rest));
}

/**
 * The hands of the game, each a way to go there, and the totals after each. known: how many hands
 * have ended for whoever looks on; of the others nothing is told.
 */
export function scores(game, at, known, go) {
  const columns = game.rules.score_sheet === 'hollywood' ? ['1st', '2nd', '3rd'] : ['total'];
  const people = game.rules.seating === 'partnership' ? [0, 1] : game.players.map((_, who) => who);
  const sides = game.rules.seating === 'partnership'
    ? people.map((who) => `${game.players[who]} & ${game.players[who + 2]}`) : game.players;
  const cells = (totals) => (columns.length > 1 ? totals : [totals]).map((column) =>
    h('td', {class: 'number'}, people.map((who) => column[who]).join('–')));
  const row = (hand, number) => h('tr', {class: number === at ? 'now' : null},
    h('th', {scope: 'row'}, h('button', {type: 'button', 'aria-current': number === at ? 'true' : null,
      title: `Go to hand ${number + 1}`, onclick: () => go(number)}, String(number + 1))),
    number < known ? ended(hand) : h('td', {colspan: 2 + columns.length}));
  const ended = (hand) => [
    h('td', {class: 'name', title: winner(game, hand)}, winner(game, hand)),
    h('td', {class: 'how'}, KINDS[hand.result.kind],
      hand.result.points ? h('b', null, ` +${hand.result.points}`) : ''),
    cells(hand.sheet.totals)];
  const over = game.final && known >= game.hands.length;
  const last = game.hands.at(-1).sheet;
  return h('section', {class: 'panel scores'},
    h('h2', null, game.single ? 'This hand' : `Score, to ${game.rules.target}`),
    h('p', {class: 'quiet order'}, sides.join(' – ')),
    h('div', {class: 'scroll'}, h('table', null,
      h('thead', null, h('tr', null, ['hand', 'won by', 'with', ...columns].map((word) =>
        h('th', {scope: 'col'}, word)))),
      h('tbody', null, game.hands.map(row)),
      over && h('tfoot', null,
        h('tr', null, h('th', {colspan: 3, scope: 'row'}, 'hands won (boxes)'), cells(last.boxes)),
        h('tr', null, h('th', {colspan: 3, scope: 'row'}, 'final'), h('td',
          {class: 'number', colspan: columns.length}, people.map((who) => game.final[who]).join('–')))))),
    over && h('p', {class: 'why'}, `${sides[game.won % sides.length]} `
      + `${game.rules.seating === 'partnership' ? 'win' : 'wins'} the game.`));
}

function winner(game, hand) {
  return hand.result.winner === null ? '–' : game.players[hand.seats[hand.result.winner]];
}
