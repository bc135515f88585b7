// Deadwood of both players along a hand, and below it the value where it was estimated.

import {h, s, signed} from './dom.js';
import {hidden} from './table.js';

const LEFT = 34, RIGHT = 12, TOP = 8, HEIGHT = 96, GAP = 14, BAND = 44;

/** The drawing, so many pixels wide; go(move) is called for a click. */
export function curve(hand, names, move, view, bottom, go, width) {
  const frames = hand.frames, last = frames.length - 1;
  const right = Math.max(width, 300) - RIGHT;
  const x = (at) => LEFT + (right - LEFT) * at / Math.max(last, 1);
  const values = view === null ? valuesFor(hand, bottom) : [];
  const total = TOP + HEIGHT + 20 + (values.length ? GAP + BAND : 0);
  const most = Math.max(20, ...frames.flatMap((f) => f.hands.map((held) => held.least)));
  const y = (points) => TOP + HEIGHT * (1 - points / most);
  const drawing = s('svg', {viewBox: `0 0 ${right + RIGHT} ${total}`, class: 'curve', role: 'img',
    'aria-label': 'Deadwood along the hand; the slider above goes to a move',
    onclick: (event) => go(moveAt(event, drawing, right, last))},
  s('rect', {class: 'hit', x: 0, y: 0, width: right + RIGHT, height: total}),
  axis(y, right, most, hand.limit),
  s('line', {class: 'cursor', x1: x(move), x2: x(move), y1: TOP - 6, y2: total - 14}),
  [1 - bottom, bottom].map((seat) => line(frames, seat, seat === bottom, view, x, y, move)),
  values.length ? band(values, x, right, TOP + HEIGHT + 4 + GAP, move) : null,
  marks(last, x, total));
  return h('figure', null, legend(hand, names, move, view, bottom, values), drawing);
}

/** The values in points, from the view of the player at the bottom: [move, points]. */
function valuesFor(hand, bottom) {
  return hand.frames.flatMap((frame, at) => {
    const value = frame.thought && frame.thought.value;
    return typeof value === 'number' ? [[at, frame.mover === bottom ? value : -value]] : [];
  });
}

function moveAt(event, drawing, right, last) {
  const box = drawing.getBoundingClientRect();
  const x = (event.clientX - box.left) / box.width * (right + RIGHT);
  const move = Math.round((x - LEFT) / (right - LEFT) * last);
  return Math.min(Math.max(move, 0), last);
}

function axis(y, right, most, limit) {
  const ticks = [0, Math.round(most / 2), most].filter((at) => Math.abs(at - limit) > most / 12);
  return s('g', {class: 'axis'},
    ticks.map((at) => [
      s('line', {x1: LEFT, x2: right, y1: y(at), y2: y(at)}),
      s('text', {x: LEFT - 6, y: y(at) + 4, 'text-anchor': 'end'}, String(at))]),
    s('line', {class: 'limit', x1: LEFT, x2: right, y1: y(limit), y2: y(limit)}),
    s('text', {x: LEFT - 6, y: y(limit) + 4, 'text-anchor': 'end', class: 'limit'},
      String(limit)));
}

/** Deadwood of a seat as steps, with a dot at the move shown; only where it may be seen. */
function line(frames, seat, near, view, x, y, move) {
  // What is laid down at the end is not told before.
  const open = frames.map((frame, at) => !hidden(frame, seat, view)
    && (view === null || seat === view || at <= move));
  let path = '';
  frames.forEach((frame, at) => {
    if (!open[at]) return;
    const to = y(frame.hands[seat].least).toFixed(1);
    path += at && open[at - 1] ? `H${x(at).toFixed(1)}V${to}` : `M${x(at).toFixed(1)} ${to}`;
  });
  if (!path) return null;
  const kind = near ? 'near' : 'far';
  return [s('path', {class: `deadwood ${kind}`, d: path}), open[move] &&
    s(near ? 'circle' : 'rect', {class: `dot ${kind}`, ...(near
      ? {cx: x(move), cy: y(frames[move].hands[seat].least), r: 5}
      : {x: x(move) - 4.5, y: y(frames[move].hands[seat].least) - 4.5, width: 9, height: 9})})];
}

function band(values, x, right, top, move) {
  const most = Math.max(10, ...values.map(([, points]) => Math.abs(points)));
  const zero = top + BAND / 2;
  const wide = Math.max(Math.min((x(1) - x(0)) * 0.7, 12), 2);
  return s('g', {class: 'values'},
    s('line', {class: 'zero', x1: LEFT, x2: right, y1: zero, y2: zero}),
    [most, -most].map((at) => s('text', {x: LEFT - 6, y: zero - at / most * BAND / 2 + 4,
      'text-anchor': 'end'}, signed(at, 0))),
    values.map(([at, points]) => {
      const size = Math.abs(points) / most * BAND / 2;
      return s('rect', {class: `value ${points < 0 ? 'minus' : 'plus'}${at === move ? ' now' : ''}`,
        x: x(at) - wide / 2, y: points < 0 ? zero : zero - size, width: wide,
        height: Math.max(size, 0.5)});
    }));
}

function marks(last, x, total) {
  const step = Math.max(5, Math.ceil(last / 8 / 5) * 5);
  const at = Array.from({length: Math.floor(last / step) + 1}, (_, k) => k * step);
  return s('g', {class: 'axis'}, at.map((move) =>
    s('text', {x: x(move), y: total - 2, 'text-anchor': 'middle'}, String(move))));
}

function legend(hand, names, move, view, bottom, values) {
  const frame = hand.frames[move];
  const entry = (seat) => h('span', {class: `key ${seat === bottom ? 'near' : 'far'}`},
    h('i'), `${names[seat]} `, h('b', null, hidden(frame, seat, view)
      ? '?' : String(frame.hands[seat].least)));
  return h('figcaption', null, 'Deadwood, of 11 cards after the best discard:',
    entry(bottom), entry(1 - bottom), h('span', {class: 'key knock'}, h('i'), 'knock limit'),
    values.length ? h('span', {class: 'key value'}, h('i'),
      `below: value in points for ${names[bottom]}`) : null);
}
