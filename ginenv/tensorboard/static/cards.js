// Cards. Suits differ in shape and, in four colours, in hue and brightness.

import {h, s} from './dom.js';

const SUITS = {
  c: ['clubs', 'M50 5A21 21 0 0 1 67 39A21 21 0 1 1 54 66C55 80 58 89 66 95L34 95C42 89 45 80 46 66A21 21 0 1 1 33 39A21 21 0 0 1 50 5Z'],
  d: ['diamonds', 'M50 3L87 50L50 97L13 50Z'],
  h: ['hearts', 'M50 92C20 65 7 48 7 31C7 17 17 8 29 8C39 8 46 14 50 24C54 14 61 8 71 8C83 8 93 17 93 31C93 48 80 65 50 92Z'],
  s: ['spades', 'M50 5C62 26 93 42 93 62C93 75 84 82 74 82C65 82 58 78 54 70C55 82 58 89 66 95L34 95C42 89 45 82 46 70C42 78 35 82 26 82C16 82 7 75 7 62C7 42 38 26 50 5Z'],
};
const RANKS = {A: 'ace', T: '10', J: 'jack', Q: 'queen', K: 'king'};

/** "Td" as it is said. */
export function spoken(card) {
  return `${RANKS[card[0]] || card[0]} of ${SUITS[card[1]][0]}`;
}

function suit(letter) {
  return s('svg', {viewBox: '0 0 100 100', class: 'suit', 'aria-hidden': 'true'},
    s('path', {d: SUITS[letter][1]}));
}

function rank(card) {
  return card[0] === 'T' ? '10' : card[0];
}

/** A card face up. mark: a word set on it ("drawn"), which also gives it a frame. */
export function face(card, mark) {
  return h('div', {
    class: `card ${SUITS[card[1]][0]}${mark ? ' marked' : ''}`,
    'data-card': card, 'data-mark': mark, role: 'img',
    'aria-label': spoken(card) + (mark ? `, ${mark}` : ''),
  },
  h('span', {class: 'corner'}, h('b', null, rank(card)), suit(card[1])),
  h('span', {class: 'middle'}, suit(card[1])),
  mark && h('span', {class: 'mark'}, mark));
}

/** A card face down. */
export function back(mark) {
  return h('div', {class: `card back${mark ? ' marked' : ''}`, 'data-mark': mark,
    role: 'img', 'aria-label': `face down${mark ? `, ${mark}` : ''}`},
  mark && h('span', {class: 'mark'}, mark));
}

/** A card within a line of text. */
export function inline(card) {
  return h('span', {class: `inline ${SUITS[card[1]][0]}`, role: 'img', 'aria-label': spoken(card)},
    h('b', null, rank(card)), suit(card[1]));
}

/** An action in words, its card drawn: "discard Kd". */
export function action(words) {
  const [what, card] = words.split(' ');
  const said = {stock: 'draw stock', take: 'take upcard', 'big-gin': 'big gin'};
  return h('span', {class: 'action', 'data-action': words}, said[what] || what,
    card && [' ', inline(card)]);
}
