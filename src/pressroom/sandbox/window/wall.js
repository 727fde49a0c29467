/** Many chats at once, as tiles that fill: each shows its newest messages, and only those in sight are read. */

import * as api from './api.js';
import { fill, h, iconButton } from './dom.js';
import { faceOf, filterBar, fitting, titleOf } from './list.js';
import { smallBubble } from './message.js';
import { store } from './store.js';
import { compact, n, t } from './words.js';

const MESSAGES = 4;
const STEP = 60; // tiles that are added at once
const AT_ONCE = 4; // requests; a browser has six per address
const SECONDS = 40; // of the curve

const collator = new Intl.Collator(undefined, { numeric: true });

/** @param {{onOpen: (key: string) => void, onBack: Function, onFilter: Function, signal: AbortSignal}} given */
export function wall({ onOpen, onBack, onFilter, signal }) {
  const grid = h('div.tiles');
  const more = h('button.loud.more-tiles', { type: 'button', hidden: true, onclick: () => grow() }, t('more'));
  const empty = h('div.list-empty', { hidden: true });
  const figures = h('p.figures');
  const curve = curveOf();
  const bar = h('div');
  const element = h(
    'section.wall',
    { hidden: true, 'aria-label': t('wall') },
    h('header.wall-head', null, iconButton('back', t('back'), onBack), h('div.wall-names', null, h('h1', null, t('wall')), figures), curve.element, bar),
    h('div.wall-scroll', null, grid, more, empty),
  );
  const tiles = new Map();
  const waiting = new Set();
  let most = STEP;
  let reading = 0;

  const observer = new IntersectionObserver(
    (entries) => {
      for (const { target, isIntersecting } of entries) {
        const tile = tiles.get(target.dataset.key);
        if (!tile) continue;
        tile.visible = isIntersecting;
        if (isIntersecting && tile.stale) wish(tile);
      }
    },
    { rootMargin: '200px' },
  );

  function update() {
    if (element.hidden) return;
    const chats = fitting().sort((a, b) => collator.compare(titleOf(a), titleOf(b)) || a.key.localeCompare(b.key));
    const shown = chats.slice(0, most);
    const stay = new Set(shown.map((chat) => chat.key));
    for (const [key, tile] of tiles) if (!stay.has(key)) drop(key, tile);
    let place = grid.firstChild;
    for (const chat of shown) {
      const tile = tiles.get(chat.key) ?? make(chat);
      if (tile.element === place) place = place.nextSibling;
      else grid.insertBefore(tile.element, place);
      showTileHead(tile, chat);
    }
    more.hidden = chats.length <= most;
    empty.hidden = chats.length > 0;
    if (!chats.length) fill(empty, h('p', null, t(store.chats.size ? 'nothingFound' : 'noChats')), h('p.hint', null, t(store.chats.size ? 'nothingFoundHint' : 'noChatsHint')));
    const total = chats.reduce((sum, chat) => sum + chat.messages, 0);
    fill(figures, [n('chatCount', chats.length), n('messageCount', total), t('perSecond', { count: compact(curve.rate()) })].join(' · '));
  }

  function make(chat) {
    const head = h('span.tile-head');
    const body = h('span.tile-body');
    const node = h('button.tile', { type: 'button', 'data-key': chat.key, 'data-provider': chat.provider, onclick: () => onOpen(chat.key) }, head, body);
    const tile = { element: node, head, body, key: chat.key, stale: true, visible: false, signature: '', newest: undefined };
    tiles.set(chat.key, tile);
    observer.observe(node);
    return tile;
  }

  function drop(key, tile) {
    observer.unobserve(tile.element);
    tile.element.remove();
    tiles.delete(key);
  }

  function showTileHead(tile, chat) {
    const title = titleOf(chat);
    const signature = `${title} ${chat.messages} ${chat.unread}`;
    if (signature === tile.signature) return;
    tile.signature = signature;
    tile.element.setAttribute('aria-label', `${title}, ${n('messageCount', chat.messages)}`);
    fill(tile.head, faceOf(chat, { mark: true }), h('span.tile-title', null, h('b', { dir: 'auto' }, title), h('small', null, n('messageCount', chat.messages))), chat.unread ? h('span.badge', null, compact(chat.unread)) : null);
  }

  // -- messages of tiles

  function wish(tile) {
    waiting.add(tile);
    next();
  }

  function next() {
    for (const tile of waiting) {
      if (reading >= AT_ONCE) return;
      waiting.delete(tile);
      if (!tiles.has(tile.key) || !tile.visible) continue;
      reading += 1;
      readTile(tile).finally(() => {
        reading -= 1;
        next();
      });
    }
  }

  async function readTile(tile) {
    const chat = store.chats.get(tile.key);
    if (!chat) return;
    tile.stale = false;
    const messages = await api.messagesOf(chat.provider, chat.id, MESSAGES).catch(() => null);
    if (!messages) return void (tile.stale = true);
    const newest = messages.at(-1)?.id;
    const arrived = tile.newest !== undefined && newest !== tile.newest;
    tile.newest = newest ?? null;
    fill(tile.body, messages.length ? messages.map((message) => inert(smallBubble(message, chat.provider))) : h('span.tile-empty', null, t('noMessages')));
    if (!arrived) return;
    tile.body.lastChild.classList.add('arrived');
    tile.element.classList.remove('pulse');
    requestAnimationFrame(() => tile.element.classList.add('pulse'));
  }

  /** @param {Iterable<string>} keys of the chats that changed */
  function refresh(keys) {
    if (element.hidden) return;
    for (const key of keys) {
      const tile = tiles.get(key);
      if (!tile) continue;
      tile.stale = true;
      if (tile.visible) wish(tile);
    }
  }

  function grow() {
    most += STEP;
    update();
  }

  const beat = setInterval(() => {
    if (store.loaded) curve.count(store.effects);
    if (!element.hidden) update();
  }, 1000);
  signal.addEventListener('abort', () => {
    clearInterval(beat);
    observer.disconnect();
  });
  store.addEventListener('chats', update, { signal });
  store.addEventListener('actors', update, { signal });

  return {
    element,
    refresh,
    update,
    show() {
      element.hidden = false;
      fill(bar, filterBar(() => (onFilter(), update())));
      for (const tile of tiles.values()) tile.stale = true;
      update();
      for (const tile of tiles.values()) if (tile.visible) wish(tile);
    },
    hide: () => (element.hidden = true),
  };
}

/** A tile is one button: what stands in it cannot be pressed by itself. */
function inert(node) {
  node.inert = true;
  return node;
}

/** Effects per second, as a small curve. */
function curveOf() {
  const svg = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
  svg.setAttribute('class', 'curve');
  svg.setAttribute('viewBox', `0 0 ${SECONDS} 20`);
  svg.setAttribute('preserveAspectRatio', 'none');
  svg.setAttribute('aria-hidden', 'true');
  const line = document.createElementNS('http://www.w3.org/2000/svg', 'polyline');
  svg.append(line);
  const rates = Array(SECONDS + 1).fill(0);
  let before = null;
  return {
    element: h('span.curve-box', { title: t('curve') }, svg),
    rate: () => Math.round(rates.slice(-5).reduce((sum, rate) => sum + rate, 0) / 5),
    count(total) {
      rates.shift();
      rates.push(before === null ? 0 : Math.max(0, total - before));
      before = total;
      const top = Math.max(4, ...rates);
      line.setAttribute('points', rates.map((rate, at) => `${at},${19 - (rate / top) * 17}`).join(' '));
    },
  };
}
