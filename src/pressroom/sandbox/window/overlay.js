/** What lies over the page for a moment: sentences, menus, dialogs, a picture in full. */

import { fill, h, icon, iconButton } from './dom.js';
import { t } from './words.js';

// -- sentences

const SHOWN_FOR = 6000; // ms

/** A calm sentence at the bottom; `kind` "error" stays longer. */
export function toast(sentence, kind = 'news') {
  const rack = document.querySelector('.toasts');
  const close = () => element.remove();
  const element = h(`div.toast.${kind}`, { onclick: close }, sentence);
  for (const same of [...rack.children].filter((each) => each.textContent === sentence)) same.remove();
  rack.append(element);
  while (rack.children.length > 4) rack.firstChild.remove();
  setTimeout(close, kind === 'error' ? SHOWN_FOR * 1.5 : SHOWN_FOR);
}

/** Runs `work` and says so when it is refused. */
export async function trying(work) {
  try {
    return await work();
  } catch (error) {
    toast(error.status ? error.message : t('unreachable'), 'error');
    if (!error.status) console.error(error);
    return null;
  }
}

// -- menus

/**
 * @param {Element|{x: number, y: number}} anchor where the menu opens
 * @param {({label: string, icon?: string, checked?: boolean, danger?: boolean, run: Function}|'line'|null)[]} items
 */
export function menu(anchor, items, label) {
  const before = document.activeElement;
  const element = h('div.menu', { role: 'menu', 'aria-label': label, popover: 'auto' }, items.filter(Boolean).map((item) => menuItem(item, () => element.hidePopover())));
  document.body.append(element);
  element.addEventListener('toggle', (event) => {
    if (event.newState !== 'closed') return;
    element.remove();
    if (document.activeElement === document.body) before?.focus?.();
  });
  element.addEventListener('keydown', (event) => walk(element, event));
  element.showPopover();
  place(element, anchor);
  element.querySelector('button')?.focus();
}

function menuItem(item, close) {
  if (item === 'line') return h('hr');
  const checkable = item.checked !== undefined;
  const run = () => {
    close();
    item.run();
  };
  return h(
    `button.menu-item${item.danger ? '.danger' : ''}`,
    { type: 'button', role: checkable ? 'menuitemradio' : 'menuitem', 'aria-checked': checkable ? String(item.checked) : null, onclick: run },
    item.icon ? icon(item.icon) : null,
    h('span', null, item.label),
    item.note ? h('small', null, item.note) : null,
    item.checked ? icon('check', 'check') : null,
  );
}

function walk(element, event) {
  const items = [...element.querySelectorAll('button')];
  const at = items.indexOf(document.activeElement);
  const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: items.length - 1 }[event.key];
  if (to === undefined) return;
  event.preventDefault();
  event.stopPropagation();
  items.at(to % items.length)?.focus();
}

function place(element, anchor) {
  const box = anchor instanceof Element ? anchor.getBoundingClientRect() : { left: anchor.x, right: anchor.x, top: anchor.y, bottom: anchor.y };
  const { offsetWidth: width, offsetHeight: height } = element;
  const left = box.left + width > innerWidth - 8 ? box.right - width : box.left;
  const top = box.bottom + 4 + height > innerHeight - 8 ? box.top - height - 4 : box.bottom + 4;
  element.style.left = `${Math.max(8, Math.min(left, innerWidth - width - 8))}px`;
  element.style.top = `${Math.max(8, top)}px`;
}

// -- dialogs

/** @param {(close: Function) => any[]} content made once, told how to close */
export function dialog(title, content, { wide = false } = {}) {
  const element = h(`dialog.dialog${wide ? '.wide' : ''}`, { 'aria-label': title });
  const close = () => element.close();
  element.append(h('header.dialog-head', null, h('h2', null, title), iconButton('close', t('close'), close)), h('div.dialog-body', null, content(close)));
  element.addEventListener('close', () => element.remove());
  element.addEventListener('click', (event) => event.target === element && close());
  document.body.append(element);
  element.showModal();
  return element;
}

/** Asks for one line; null when nothing was given. */
export function ask(title, label, value = '') {
  return new Promise((resolve) => {
    let answer = null;
    const field = h('input.field', { type: 'text', value, 'aria-label': label, placeholder: label, autocomplete: 'off', maxLength: 128 });
    const box = dialog(title, (close) => {
      const submit = (event) => {
        event.preventDefault();
        answer = field.value.trim() || null;
        close();
      };
      return [h('form', { onsubmit: submit }, field, h('div.dialog-actions', null, h('button.quiet', { type: 'button', onclick: close }, t('cancel')), h('button.loud', { type: 'submit' }, t('ok'))))];
    });
    box.addEventListener('close', () => resolve(answer));
    field.select();
  });
}

export function enlarged(src, alt) {
  const element = h('dialog.enlarged', { 'aria-label': alt, onclick: () => element.close() }, h('img', { src, alt }), iconButton('close', t('close'), () => element.close()));
  element.addEventListener('close', () => element.remove());
  document.body.append(element);
  element.showModal();
}

const KEYS = [
  ['/', 'key_search'],
  ['↑ ↓  ·  j k', 'key_list'],
  ['Enter', 'key_open'],
  ['Alt + ↑ ↓', 'key_neighbour'],
  ['Esc', 'key_back'],
  ['Enter  ·  Shift + Enter', 'key_send'],
  ['w', 'key_wall'],
  ['s', 'key_sandbox'],
  ['n', 'key_new'],
  ['t', 'key_theme'],
  ['?', 'key_help'],
];

export function help() {
  dialog(t('help'), () => [h('dl.keys', null, KEYS.map(([keys, what]) => [h('dt', null, keys.split(/\s{2,}/).map((each) => (each === '·' ? ' ' : h('kbd', null, each)))), h('dd', null, t(what))]))]);
}

/** The one place that says what others cannot see happening. */
export function announce(sentence) {
  const region = document.querySelector('.announcer');
  if (region) fill(region, sentence);
}
