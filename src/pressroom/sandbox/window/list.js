/** The chats at the left, the newest first. Only the rows in sight are elements, so that 10,000 chats stay quick. */

import { avatar } from './avatar.js';
import { fill, h, icon } from './dom.js';
import { summary } from './message.js';
import { chosenName } from './people.js';
import { DIALOGS, store } from './store.js';
import { compact, n, shortDate, t } from './words.js';

const ROW = 72; // px, as in list.css
const AROUND = 6;
const UNHURRIED = 600; // ms between changes that are shown as motion

export const FILTERS = {
  all: () => true,
  telegram: (chat) => chat.provider === 'telegram',
  max: (chat) => chat.provider === 'max',
  channels: (chat) => chat.kind === 'channel',
  dialogs: (chat) => DIALOGS.has(chat.kind),
};

/** In a dialog of the chosen person the other side is the bot; in somebody else's it is both. */
export function titleOf(chat) {
  const bot = chat.bots[0];
  if (!DIALOGS.has(chat.kind) || !bot) return chat.title;
  const person = chat.people[0]?.name ?? chat.title;
  return person === chosenName() ? bot.name : `${person} · ${bot.name}`;
}

export function faceOf(chat, extra) {
  const bot = DIALOGS.has(chat.kind) ? chat.bots[0] : null;
  return avatar(chat.provider, bot?.id ?? chat.id, bot?.name ?? chat.title, extra);
}

/** What is searched for and filtered by, shared by the list and the wall. */
export const wanted = { text: '', filter: localStorage.getItem('filter') in FILTERS ? localStorage.getItem('filter') : 'all' };

export function fitting() {
  const text = wanted.text.trim().toLowerCase().replace(/^@/, '');
  const inFilter = FILTERS[wanted.filter];
  return store.sorted((chat) => inFilter(chat) && (!text || `${titleOf(chat)} ${chat.title} ${chat.username ?? ''}`.toLowerCase().includes(text)));
}

export function filterBar(onchange) {
  const bar = h('div.filters', { role: 'group', 'aria-label': t('filters') });
  const show = () => fill(bar, Object.keys(FILTERS).map((name) => chip(name)));
  const chip = (name) => h('button.chip', { type: 'button', 'aria-pressed': String(wanted.filter === name), onclick: () => pick(name) }, t(`filter_${name}`));
  const pick = (name) => {
    wanted.filter = name;
    localStorage.setItem('filter', name);
    show();
    bar.querySelector('[aria-pressed=true]')?.focus({ preventScroll: true });
    onchange();
  };
  show();
  return bar;
}

/** @param {{onOpen: (key: string) => void, onNew: () => void, signal: AbortSignal}} given */
export function chatList({ onOpen, onNew, signal }) {
  const canvas = h('div.rows');
  const empty = h('div.list-empty');
  const box = h('div.list', { role: 'listbox', tabIndex: 0, 'aria-label': t('chats') }, canvas, empty);
  const rows = new Map();
  let chats = [];
  let open = null;
  let cursor = null;
  let updatedAt = -Infinity;

  const indexOf = (key) => chats.findIndex((chat) => chat.key === key);
  const update = () => {
    chats = fitting();
    box.classList.toggle('hurried', performance.now() - updatedAt < UNHURRIED); // rows that glide all the time overlap
    updatedAt = performance.now();
    canvas.style.height = `${chats.length * ROW}px`;
    showEmpty();
    draw();
  };

  function draw() {
    const from = Math.max(0, Math.floor(box.scrollTop / ROW) - AROUND);
    const to = Math.min(chats.length, Math.ceil((box.scrollTop + (box.clientHeight || 900)) / ROW) + AROUND);
    const stay = new Set();
    for (let index = from; index < to; index += 1) {
      stay.add(chats[index].key);
      drawRow(chats[index], index);
    }
    for (const [key, row] of rows) if (!stay.has(key)) removeRow(key, row);
    const active = rows.get(cursor);
    if (active) box.setAttribute('aria-activedescendant', active.element.id);
    else box.removeAttribute('aria-activedescendant');
  }

  function drawRow(chat, index) {
    let row = rows.get(chat.key);
    if (!row) {
      row = { element: h('div.row', { role: 'option', id: `row-${chat.key.replace('/', '-')}`, 'data-key': chat.key, onclick: () => onOpen(chat.key) }), signature: '' };
      rows.set(chat.key, row);
      canvas.append(row.element);
    }
    const { element } = row;
    element.style.transform = `translateY(${index * ROW}px)`;
    element.setAttribute('aria-setsize', String(chats.length));
    element.setAttribute('aria-posinset', String(index + 1));
    element.setAttribute('aria-selected', String(chat.key === open));
    element.classList.toggle('cursor', chat.key === cursor);
    const signature = JSON.stringify([chat, titleOf(chat), new Date(store.now() * 1000).toDateString()]);
    if (signature === row.signature) return;
    row.signature = signature;
    fill(element, faceOf(chat, { mark: true }), rowBody(chat));
  }

  function removeRow(key, row) {
    row.element.remove();
    rows.delete(key);
  }

  function showEmpty() {
    empty.hidden = chats.length > 0;
    if (chats.length) return;
    if (!store.loaded) fill(empty, Array.from({ length: 8 }, () => h('div.ghost', null, h('i'), h('b'), h('s'))));
    else if (store.chats.size) fill(empty, h('p', null, t('nothingFound')), h('p.hint', null, t('nothingFoundHint')));
    else fill(empty, h('p', null, t('noChats')), h('p.hint', null, t('noChatsHint')), h('button.loud', { type: 'button', onclick: onNew }, t('newDialog')));
  }

  function moveTo(index) {
    if (!chats.length) return;
    const to = Math.min(Math.max(index, 0), chats.length - 1);
    cursor = chats[to].key;
    if (to * ROW < box.scrollTop) box.scrollTop = to * ROW;
    if ((to + 1) * ROW > box.scrollTop + box.clientHeight) box.scrollTop = (to + 1) * ROW - box.clientHeight;
    draw();
  }

  box.addEventListener('scroll', draw, { passive: true });
  box.addEventListener('keydown', (event) => {
    const at = indexOf(cursor);
    const page = Math.max(1, Math.floor(box.clientHeight / ROW) - 1);
    const to = { ArrowDown: at + 1, j: at + 1, ArrowUp: at - 1, k: at - 1, Home: 0, End: chats.length, PageDown: at + page, PageUp: at - page }[event.key];
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (to !== undefined) moveTo(to);
    else if (event.key === 'Enter' && cursor) onOpen(cursor, { byKey: true });
    else return;
    event.preventDefault();
  });
  box.addEventListener('focus', () => {
    if (indexOf(cursor) < 0) moveTo(Math.max(0, indexOf(open)));
  });
  store.addEventListener('chats', update, { signal });
  store.addEventListener('actors', update, { signal });
  new ResizeObserver(draw).observe(box);
  update();

  return {
    element: box,
    update,
    focus: () => box.focus(),
    select(key) {
      open = key;
      if (key) cursor = key;
      draw();
    },
    neighbour(step) {
      const at = indexOf(open);
      const chat = chats[at < 0 ? 0 : at + step];
      if (!chat) return;
      onOpen(chat.key);
      moveTo(indexOf(chat.key));
    },
  };
}

function rowBody(chat) {
  const { who, text } = summary(chat.last);
  const kind = chat.kind === 'channel' ? 'channel' : DIALOGS.has(chat.kind) ? null : 'group';
  const named = who && kind === 'group' ? `${who}: ` : '';
  const quiet = chat.state && chat.state !== 'active' ? h('span.quiet-mark', null, t(`state_${chat.state}`)) : null;
  return h(
    'span.row-body',
    null,
    h('span.row-top', null, kind ? icon(kind, 'kind') : null, h('span.row-title', { dir: 'auto' }, titleOf(chat)), h('time', null, chat.last ? shortDate(chat.last.at, store.now()) : '')),
    h(
      'span.row-bottom',
      null,
      h('span.row-text', { dir: 'auto' }, named ? h('b', null, named) : null, text || h('i', null, t('noMessages'))),
      quiet,
      chat.unread ? h('span.badge', { 'aria-label': n('newMessages', chat.unread) }, compact(chat.unread)) : null,
    ),
  );
}
