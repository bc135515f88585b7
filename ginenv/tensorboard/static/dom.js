// Elements of the page. Text goes in as text: nothing that a record says is ever read as markup.

const SVG = 'http://www.w3.org/2000/svg';

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, '');
    else if (value !== false && value != null) element.setAttribute(name, value);
  }
  element.append(...children.flat(Infinity).filter((child) => child != null && child !== false));
  return element;
}

/** An element with attributes ("onclick" and such are listeners) and children (elements, text). */
export function h(name, attributes, ...children) {
  return fill(document.createElement(name), attributes, children);
}

/** The same for what is drawn. */
export function s(name, attributes, ...children) {
  return fill(document.createElementNS(SVG, name), attributes, children);
}

/** A number with its sign, as people write it. */
export function signed(number, digits = 1) {
  const shown = Math.abs(number).toFixed(digits);
  return (number < 0 ? '−' : '+') + shown;
}
