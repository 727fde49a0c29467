/** Elements are made here and nowhere else, from names and text: what a message says is never read as markup. */

const SVG = 'http://www.w3.org/2000/svg';

/**
 * @param {string} what tag and classes: "div.bubble.out"
 * @param {Record<string, any>} [props] properties, `data-`/`aria-` attributes, and `on...` listeners
 * @param {...any} children nodes, text, lists of both; null and false are left out
 */
export function h(what, props, ...children) {
  const [tag, ...classes] = what.split('.');
  const element = document.createElement(tag);
  if (classes.length) element.className = classes.join(' ');
  for (const [name, value] of Object.entries(props ?? {})) set(element, name, value);
  element.append(...present(children));
  return element;
}

function set(element, name, value) {
  if (value === null || value === undefined || value === false) return;
  if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
  else if (name === 'style') Object.assign(element.style, value);
  else if (name in element && !name.includes('-') && name !== 'role' && name !== 'list') element[name] = value;
  else element.setAttribute(name, value === true ? '' : value);
}

export function present(children) {
  return children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false && child !== '');
}

export function fill(element, ...children) {
  element.replaceChildren(...present(children));
  return element;
}

/** Shapes of our own on a 24 by 24 grid, drawn with a stroke; those that begin with "!" are filled. */
const SHAPES = {
  back: 'M15 5l-7 7 7 7',
  menu: 'M4 7h16M4 12h16M4 17h16',
  search: 'M11 4a7 7 0 1 1 0 14 7 7 0 0 1 0-14zM16 16l4.5 4.5',
  close: 'M6 6l12 12M18 6L6 18',
  more: '!M12 4.2a1.8 1.8 0 1 1 0 3.6 1.8 1.8 0 0 1 0-3.6zM12 10.2a1.8 1.8 0 1 1 0 3.6 1.8 1.8 0 0 1 0-3.6zM12 16.2a1.8 1.8 0 1 1 0 3.6 1.8 1.8 0 0 1 0-3.6z',
  wall: 'M4 4h7v7H4zM13 4h7v7h-7zM4 13h7v7H4zM13 13h7v7h-7z',
  send: '!M3.4 11.2L5 4.6c.2-.8 1-1.2 1.8-.8l14 7.2c.9.5.9 1.6 0 2.1l-14 7.2c-.8.4-1.6 0-1.8-.8l-1.6-6.6L13 12z',
  attach: 'M19 11.5l-7.5 7.5a4.6 4.6 0 0 1-6.5-6.5l8.3-8.3a3.1 3.1 0 0 1 4.4 4.4l-8.2 8.2a1.5 1.5 0 0 1-2.2-2.2l7.2-7.2',
  pen: 'M4 20l1-4.5L16 4.5a1.8 1.8 0 0 1 2.5 0l1 1a1.8 1.8 0 0 1 0 2.5L8.5 19z',
  down: 'M6 9.5l6 6 6-6',
  check: 'M5 12.5l4.5 4.5L19 7.5',
  moon: 'M19.5 14.5A8 8 0 0 1 9.5 4.5a8 8 0 1 0 10 10z',
  sun: 'M12 8a4 4 0 1 1 0 8 4 4 0 0 1 0-8zM12 2.5v2M12 19.5v2M2.5 12h2M19.5 12h2M5.3 5.3l1.4 1.4M17.3 17.3l1.4 1.4M18.7 5.3l-1.4 1.4M6.7 17.3l-1.4 1.4',
  globe: 'M12 3.5a8.5 8.5 0 1 1 0 17 8.5 8.5 0 0 1 0-17zM3.5 12h17M12 3.5c3 3 3 14 0 17M12 3.5c-3 3-3 14 0 17',
  tools: 'M4 8h9M17 8h3M4 16h3M11 16h9M15 6a2 2 0 1 1 0 4 2 2 0 0 1 0-4zM9 14a2 2 0 1 1 0 4 2 2 0 0 1 0-4z',
  keys: 'M3.5 7h17v10h-17zM7 10.5h.1M10.3 10.5h.1M13.6 10.5h.1M17 10.5h.1M8 13.8h8',
  person: 'M12 4.5a3.7 3.7 0 1 1 0 7.4 3.7 3.7 0 0 1 0-7.4zM5 19.5c.6-3.6 3.5-5 7-5s6.4 1.4 7 5',
  pin: 'M14.5 4l5.5 5.5-3 .8-3 3-.5 3.7L7.5 11l3.7-.5 3-3zM10 14.5L5 19.5',
  reply: 'M10 6l-6 5.5 6 5.5v-3.5c5 0 8 1 10 4-.5-5.5-4-8-10-8z',
  file: 'M7 3.5h7l4.5 4.5v12.5H7zM14 3.5V8h4.5',
  play: '!M8 5.2c0-.9 1-1.4 1.7-.9l9.2 6.7c.7.5.7 1.5 0 2l-9.2 6.7c-.7.5-1.7 0-1.7-.9z',
  sound: 'M9 18V6l10-2v12M9 18a2.5 2 0 1 1-5 0 2.5 2 0 0 1 5 0zM19 16a2.5 2 0 1 1-5 0 2.5 2 0 0 1 5 0z',
  voice: 'M12 4a2.8 2.8 0 0 1 2.8 2.8v4.4a2.8 2.8 0 0 1-5.6 0V6.8A2.8 2.8 0 0 1 12 4zM6 11a6 6 0 0 0 12 0M12 17v3',
  image: 'M4 5h16v14H4zM4 16l5-5 4 4 3-3 4 4M15.5 8.5a1 1 0 1 1 0 2 1 1 0 0 1 0-2z',
  place: 'M12 21c4-4.5 6.5-7.7 6.5-11a6.5 6.5 0 0 0-13 0c0 3.3 2.5 6.5 6.5 11zM12 7.8a2.2 2.2 0 1 1 0 4.4 2.2 2.2 0 0 1 0-4.4z',
  link: 'M8 16L16.5 7.5M9.5 7.5h7v7',
  copy: 'M9 9h10v10H9zM5 15V5h10',
  eye: 'M2.5 12C5 7.5 8.3 5.5 12 5.5s7 2 9.5 6.5c-2.5 4.5-5.8 6.5-9.5 6.5S5 16.5 2.5 12zM12 9.2a2.8 2.8 0 1 1 0 5.6 2.8 2.8 0 0 1 0-5.6z',
  channel: 'M4 10v4h3l8 4V6L7 10zM18.5 9.5c1 1.5 1 3.5 0 5',
  group: 'M9 6a3 3 0 1 1 0 6 3 3 0 0 1 0-6zM3.5 18.5c.4-3 2.6-4.3 5.5-4.3s5.1 1.3 5.5 4.3zM16 7a2.5 2.5 0 1 1 0 5M17 14.5c2 .2 3.2 1.5 3.5 4',
  telegram: '!M4.5 11.8l14-6.3c.7-.3 1.3.2 1.1 1l-2.3 11.3c-.2.9-1.1 1.2-1.8.7l-3.7-2.7-2 2c-.4.4-1 .2-1.1-.4l-.9-3.7-3.3-1c-.6-.2-.6-.7 0-.9z',
};

export function icon(name, extra = '') {
  const shape = SHAPES[name];
  const svg = document.createElementNS(SVG, 'svg');
  svg.setAttribute('viewBox', '0 0 24 24');
  svg.setAttribute('aria-hidden', 'true');
  svg.setAttribute('class', `icon ${shape[0] === '!' ? 'filled' : ''} ${extra}`);
  const path = document.createElementNS(SVG, 'path');
  path.setAttribute('d', shape.replace('!', ''));
  svg.append(path);
  return svg;
}

/** A round button with a picture and a name for those who do not see it. */
export function iconButton(name, label, onclick, extra = '') {
  return h(`button.icon-button${extra}`, { type: 'button', title: label, 'aria-label': label, onclick }, icon(name));
}
