// The page: which game and which move is shown, and everything that changes it.

import {curve} from './curve.js';
import {h} from './dom.js';
import * as host from './host.js';
import {decision, scores} from './panels.js';
import {table} from './table.js';

const SPEEDS = [0.5, 1, 2, 4, 8];
const place = {run: null, tag: null, step: null, hand: 0, move: 0, view: null};
const page = {tags: {}, steps: [], game: null, asked: 0, playing: null, speed: 1};
const at = {};

/** What TensorBoard calls. */
export async function render() {
  document.title = 'Gin Rummy';
  document.documentElement.lang = 'en';
  document.head.append(h('link', {rel: 'stylesheet', href: new URL('./style.css', import.meta.url)}));
  host.followColours();
  build();
  document.addEventListener('keydown', onKey);
  addEventListener('resize', () => page.game && draw());
  host.onLink(follow);
  host.onReload(() => guarded(reload));
  window.focus();
  await follow();
}

function build() {
  for (const name of ['run', 'tag', 'step', 'view']) at[name] = h('select', {id: name});
  at.run.addEventListener('change', () => choose({run: at.run.value}));
  at.tag.addEventListener('change', () => choose({run: place.run, tag: at.tag.value}));
  at.step.addEventListener('change', () =>
    choose({run: place.run, tag: place.tag, step: Number(at.step.value)}));
  at.view.addEventListener('change', () => look(at.view.value === '' ? null : Number(at.view.value)));
  const label = (word, name) => h('label', null, h('span', null, word), at[name]);
  at.copy = h('button', {type: 'button', id: 'copy', onclick: copyLink}, 'Copy link');
  at.notice = h('p', {class: 'notice', role: 'alert', hidden: true});
  at.table = h('div', {class: 'felt'});
  at.curve = h('div', {class: 'panel'});
  at.side = h('aside');
  at.main = h('main', {hidden: true}, h('div', {class: 'left'}, at.table, transport(), at.curve), at.side);
  document.body.replaceChildren(
    h('header', {class: 'bar'}, label('Run', 'run'), label('Games', 'tag'), label('Step', 'step'),
      label('Show', 'view'), at.copy),
    at.notice, at.main);
}

function transport() {
  const button = (name, sign, said, onclick) => at[name] = h('button',
    {type: 'button', id: name, title: said, 'aria-label': said, onclick: (event) => {
      // A key pressed after a click is meant for the game.
      if (event.detail) event.currentTarget.blur();
      onclick();
    }}, sign);
  at.scrub = h('input', {type: 'range', id: 'scrub', min: 0, step: 1, 'aria-label': 'Move',
    oninput: () => go(place.hand, Number(at.scrub.value))});
  at.count = h('output', {id: 'count', for: 'scrub'});
  at.hands = h('output', {id: 'hands'});
  at.speed = h('select', {id: 'speed', 'aria-label': 'Speed',
    onchange: () => { page.speed = Number(at.speed.value); if (page.playing) play(true); }},
  SPEEDS.map((speed) => h('option', {value: speed, selected: speed === 1}, `${speed} ×`)));
  return h('div', {class: 'panel transport', role: 'group', 'aria-label': 'Playback'},
    h('div', null,
      button('start', '|◀', 'First move (Home)', () => go(place.hand, 0)),
      button('back', '◀', 'Back (←)', () => walk(-1)),
      button('play', '▶ Play', 'Play or pause (space)', () => play(!page.playing)),
      button('next', '▶', 'On (→)', () => walk(1)),
      button('end', '▶|', 'Last move (End)', () => go(place.hand, Infinity)),
      at.speed, at.count,
      h('span', {class: 'between'},
        button('handback', '«', 'Hand before (Page Up)', () => go(place.hand - 1, 0)), at.hands,
        button('handnext', '»', 'Next hand (Page Down)', () => go(place.hand + 1, 0)))),
    at.scrub);
}

function keys() {
  const every = {space: 'play', '← →': 'move', 'Home End': 'first, last', 'Page ↑ ↓': 'hand', v: 'show'};
  return h('p', {class: 'keys'}, Object.entries(every).map(([key, what]) =>
    h('span', null, h('kbd', null, key), what)));
}

/** Tell of what went wrong, and leave the page in use. */
async function guarded(work) {
  try {
    await work();
  } catch (error) {
    tell(`${error.message || error}`);
  }
}

function tell(words) {
  play(false);
  page.game = null;
  at.notice.textContent = words;
  at.notice.hidden = false;
  at.main.hidden = true;
}

/** Go where the address says; what it leaves open is the first run and tag, and the last step. */
function follow() {
  clearTimeout(page.linking); // else the place left would be written over the one asked for
  const link = host.readLink();
  const asked = ++page.asked;
  return guarded(async () => {
    page.tags = await host.tags();
    if (asked !== page.asked) return; // another one is asked for
    for (const name of ['hand', 'move', 'step', 'view']) {
      if (name in link) link[name] = Number(link[name]);
    }
    if ('hand' in link) link.hand -= 1;
    await show(link);
  });
}

/** A game chosen in the lists. */
function choose(wanted) {
  return guarded(() => show({view: place.view, ...wanted}));
}

async function show(wanted) {
  const runs = Object.keys(page.tags);
  if (!runs.length) {
    return tell('There are no games in these logs yet. Training writes some with each evaluation; '
      + '“python evaluate.py POLICY expert --tensorboard FOLDER” writes others.');
  }
  const asked = ++page.asked;
  const run = runs.includes(wanted.run) ? wanted.run : runs[0];
  const tags = page.tags[run];
  const tag = tags.includes(wanted.tag) ? wanted.tag : tags[0];
  const steps = await host.steps(run, tag);
  const known = steps.map((each) => each.step);
  const step = known.includes(wanted.step) ? wanted.step : known.at(-1);
  const game = await host.game(run, tag, step);
  if (asked !== page.asked) return; // something else was chosen meanwhile
  play(false);
  Object.assign(place, {run, tag, step});
  page.steps = steps;
  lists();
  if (game.error) return tell(game.error);
  page.game = game;
  at.notice.hidden = true;
  at.main.hidden = false;
  place.view = [0, 1].includes(wanted.view) ? wanted.view : null;
  go(wanted.hand || 0, wanted.move || 0);
  const missing = ['run', 'tag', 'step'].filter((name) =>
    name in wanted && wanted[name] !== place[name]);
  if (missing.length) {
    at.notice.textContent = `The link's ${missing[0]} is not in these logs: this is another game.`;
    at.notice.hidden = false;
  }
}

async function reload() {
  page.tags = await host.tags();
  if (!page.game) return show(place.run === null ? host.readLink() : place);
  page.steps = await host.steps(place.run, place.tag);
  lists();
}

function lists() {
  options(at.run, Object.keys(page.tags).map((run) => [run, run]), place.run);
  options(at.tag, (page.tags[place.run] || []).map((tag) => [tag, tag]), place.tag);
  options(at.step, page.steps.map(({step, title}) =>
    [step, `${step.toLocaleString('en')} · ${title}`]), place.step);
}

function options(select, pairs, value) {
  select.replaceChildren(...pairs.map(([key, word]) =>
    h('option', {value: key, selected: key === value}, word)));
}

/** Show a move of a hand, or the nearest that there is. */
function go(hand, move) {
  if (!page.game) return;
  const {hands} = page.game;
  place.hand = Math.min(Math.max(Math.trunc(hand) || 0, 0), hands.length - 1);
  const last = hands[place.hand].frames.length - 1;
  place.move = move === Infinity ? last : Math.min(Math.max(Math.trunc(move) || 0, 0), last);
  draw();
}

/** One move on or back, over the ends of hands too; whether there was one. */
function walk(by) {
  const {hands} = page.game;
  const move = place.move + by;
  if (move >= 0 && move < hands[place.hand].frames.length) go(place.hand, move);
  else if (hands[place.hand + by]) go(place.hand + by, by > 0 ? 0 : Infinity);
  else return false;
  return true;
}

function play(on) {
  clearTimeout(page.playing);
  page.playing = null;
  if (on && page.game) {
    if (atEnd()) go(0, 0);
    schedule();
  }
  at.play.textContent = page.playing ? '❚❚ Pause' : '▶ Play';
  at.play.setAttribute('aria-pressed', String(Boolean(page.playing)));
}

function schedule() {
  const ended = place.move === page.game.hands[place.hand].frames.length - 1;
  page.playing = setTimeout(() => {
    if (walk(1) && !atEnd()) schedule();
    else play(false);
  }, (ended ? 3000 : 1000) / page.speed);
}

function atEnd() {
  const {hands} = page.game;
  return place.hand === hands.length - 1 && place.move === hands.at(-1).frames.length - 1;
}

/** How many hands have ended for whoever looks on: to him who sees all, every one. */
function known(hand) {
  const ended = place.move === hand.frames.length - 1;
  return place.view === null ? page.game.hands.length : place.hand + (ended ? 1 : 0);
}

function look(view) {
  place.view = view;
  draw();
}

/** The seat that sits below: whose knowledge is shown, or who thinks, or seat 0. */
function below(hand) {
  if (place.view !== null) return place.view;
  const thinks = hand.frames.filter((frame) => frame.thought).map((frame) => frame.mover);
  return thinks.length && !thinks.includes(0) ? 1 : 0;
}

function draw() {
  const hand = page.game.hands[place.hand], {move, view} = place;
  const names = hand.seats.map((player) => page.game.players[player]);
  const bottom = below(hand), last = hand.frames.length - 1;
  at.table.replaceChildren(...table(hand, names, move, view, bottom));
  at.curve.replaceChildren(curve(hand, names, move, view, bottom, (to) => go(place.hand, to),
    at.curve.clientWidth - 28));
  at.side.replaceChildren(decision(hand, names, move, view),
    scores(page.game, place.hand, known(hand), (to) => go(to, 0)), keys());
  options(at.view, [['', 'both hands'], ...names.map((name, seat) => [seat, `what ${name} knew`])],
    view === null ? '' : view);
  at.scrub.max = last;
  at.scrub.value = move;
  at.scrub.setAttribute('aria-valuetext', `move ${move} of ${last}`);
  at.count.textContent = `move ${move} of ${last}`;
  at.hands.textContent = `hand ${place.hand + 1} of ${page.game.hands.length}`;
  at.handback.disabled = place.hand === 0;
  at.handnext.disabled = place.hand === page.game.hands.length - 1;
  at.side.querySelector('.now')?.scrollIntoView({block: 'nearest'});
  clearTimeout(page.linking); // browsers allow only so many changes of the address a second
  const before = host.said();
  page.linking = setTimeout(() => host.writeLink(address(), before), 250);
}

function address() {
  const {run, tag, step, hand, move, view} = place;
  return {run, tag, step, hand: hand + 1, move, ...(view === null ? {} : {view})};
}

async function copyLink() {
  const link = host.linkTo(address());
  try {
    await navigator.clipboard.writeText(link);
    at.copy.textContent = 'Copied';
  } catch (error) {
    host.writeLink(address());
    at.copy.textContent = 'It is in the address bar';
  }
  setTimeout(() => { at.copy.textContent = 'Copy link'; }, 2000);
}

const KEYS = {
  ArrowRight: () => walk(1), ArrowLeft: () => walk(-1), Home: () => go(place.hand, 0),
  End: () => go(place.hand, Infinity), PageUp: () => go(place.hand - 1, 0),
  PageDown: () => go(place.hand + 1, 0), ' ': () => play(!page.playing),
  v: () => look({null: 0, 0: 1, 1: null}[place.view]),
};

function onKey(event) {
  const within = event.target.tagName;
  if (!page.game || event.ctrlKey || event.altKey || event.metaKey || !(event.key in KEYS)) return;
  // A list has these keys to itself, and space presses the button that has the focus.
  if (within === 'SELECT' || (within === 'BUTTON' && event.key === ' ')) return;
  event.preventDefault();
  KEYS[event.key]();
}
