// What is around the page: TensorBoard's window with its address, its colours and its reloads.

const PLUGIN = 'gin_rummy';
const PREFIX = `p.${PLUGIN}.`;

/** The window whose address bar it is; the page's own when it was opened by itself. */
function outer() {
  try {
    return window.parent.location.hash === undefined ? window : window.parent;
  } catch (error) {
    return window;
  }
}

/** The place that the address names: {run, tag, step, hand, move, view}, each if it is there. */
export function readLink() {
  const place = {};
  for (const part of said().slice(1).split('&')) {
    try {
      const [name, value] = part.split('=').map(decodeURIComponent);
      if (name.startsWith(PREFIX) && value !== undefined) place[name.slice(PREFIX.length)] = value;
    } catch (error) { /* not written by us */ }
  }
  return place;
}

/** The address of a place. */
export function linkTo(place) {
  const parts = Object.entries(place).map(([name, value]) =>
    `${encodeURIComponent(PREFIX + name)}=${encodeURIComponent(value)}`);
  const address = new URL(outer().location.href);
  address.hash = [PLUGIN, ...parts].join('&');
  return address.href;
}

/** What the address bar says, to be told from what it says later. */
export const said = () => outer().location.hash;

/** Put a place into the address bar, unless another tab is open by now or another place is named. */
export function writeLink(place, before = said()) {
  const tab = said().slice(1).split('&')[0];
  if (outer() !== window && tab && tab !== PLUGIN || before !== said()) return;
  outer().history.replaceState(outer().history.state, '', linkTo(place));
}

/** Call back when the address is changed by hand. */
export function onLink(changed) {
  outer().addEventListener('hashchange', changed);
}

/** Follow TensorBoard's light and dark; alone, the system's. */
export function followColours() {
  const body = outer().document.body, system = matchMedia('(prefers-color-scheme: dark)');
  const follow = () => document.documentElement.classList.toggle('dark',
    outer() === window ? system.matches : body.classList.contains('dark-mode'));
  new MutationObserver(follow).observe(body, {attributes: true, attributeFilter: ['class']});
  system.addEventListener('change', follow);
  follow();
}

/** Call back when TensorBoard has read its logs anew. */
export function onReload(reload) {
  if (window.parent === window) return;
  const channel = new MessageChannel();
  channel.port1.onmessage = (event) => {
    const message = JSON.parse(event.data);
    if (message.isReply) return;
    if (message.type === 'experimental.DataReloaded') reload();
    channel.port1.postMessage(JSON.stringify({type: message.type, id: message.id, payload: null,
      error: null, isReply: true}));
  };
  window.parent.postMessage('experimental.bootstrap', '*', [channel.port2]);
}

async function ask(question, place) {
  const address = new URL(`./${question}`, import.meta.url);
  for (const [name, value] of Object.entries(place || {})) address.searchParams.set(name, value);
  const answer = await fetch(address);
  if (!answer.ok) throw new Error(`TensorBoard answers ${answer.status} ${answer.statusText}.`);
  return answer.json();
}

/** {run: [tag, ...]}. */
export const tags = () => ask('tags');
/** [{step, title}, ...] of a tag. */
export const steps = (run, tag) => ask('steps', {run, tag});
/** A game as frames.py expands it, or {error}. */
export const game = (run, tag, step) => ask('game', {run, tag, step});
