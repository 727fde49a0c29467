/** Puts the page together, and decides by the address what of it is in sight: "#telegram/-100123", "#wall", nothing. */

import { conversation } from './conversation.js';
import { fill, h, icon, iconButton } from './dom.js';
import { doInDialog } from './composer.js';
import { drawer } from './drawer.js';
import { chatList, filterBar, titleOf, wanted } from './list.js';
import { live } from './live.js';
import { help, menu, toast, trying } from './overlay.js';
import { actingIn, chooseBot, choosePerson, chosenName } from './people.js';
import { DIALOGS, keyOf, store } from './store.js';
import { clockTime, currentLanguage, LANGUAGES, n, speak, t } from './words.js';
import { wall } from './wall.js';
import * as api from './api.js';

const root = h('div.app');
const overlays = [h('div.toasts', { role: 'status' }), h('div.announcer', { 'aria-live': 'polite' })];
let page = null;

// -- where one is

const place = () => decodeURIComponent(location.hash.slice(1));
const go = (to) => {
  if (place() !== to) location.hash = to;
};

function whenShown(to, then) {
  if (place() === to) then();
  else addEventListener('hashchange', then, { once: true });
}

function show() {
  const at = place();
  const inChat = at.includes('/');
  root.dataset.view = at === 'wall' ? 'wall' : inChat ? 'chat' : 'list';
  page.welcome.hidden = inChat;
  if (at === 'wall') page.wall.show();
  else page.wall.hide();
  if (!inChat) {
    page.conversation.close();
    store.look(null);
  } else if (page.conversation.key !== at) page.conversation.open(at);
  page.list.select(inChat ? at : null);
  page.drawer.showWhere();
  showTitle();
}

function showTitle() {
  const chat = store.chats.get(place());
  let unread = 0;
  for (const each of store.chats.values()) unread += each.unread;
  document.title = `${unread ? `(${unread}) ` : ''}${chat ? `${titleOf(chat)} · ` : ''}${t('pageTitle')}`;
}

// -- the page

function build() {
  page?.abort.abort();
  const abort = new AbortController();
  const { signal } = abort;
  const openChat = (key, how) => {
    if (how?.byKey) whenShown(key, () => page.conversation.write());
    go(key);
  };
  const list = chatList({ onOpen: openChat, onNew: newDialog, signal });
  const bar = h('div');
  const showFilters = () => fill(bar, filterBar(list.update));
  showFilters();
  const search = h('input.search', { type: 'search', placeholder: t('search'), 'aria-label': t('search'), value: wanted.text, autocomplete: 'off' });
  search.addEventListener('input', () => {
    wanted.text = search.value;
    list.element.scrollTop = 0;
    list.update();
  });
  search.addEventListener('keydown', (event) => {
    if (event.key !== 'ArrowDown' && event.key !== 'Enter') return;
    event.preventDefault();
    list.focus();
  });
  const status = h('button.status', { type: 'button', onclick: () => page.drawer.toggle(), title: t('sandbox') });
  const welcome = h('section.welcome');
  page = {
    abort,
    list,
    search,
    status,
    welcome,
    conversation: conversation({ onBack: () => go(''), onOpen: openChat, signal }),
    wall: wall({ onOpen: openChat, onBack: () => go(''), onFilter: () => (showFilters(), list.update()), signal }),
    drawer: drawer({ openChat: () => store.chats.get(place()), onClose: () => page.drawer.toggle(false), signal }),
  };
  const head = h(
    'header.sidebar-head',
    null,
    iconButton('menu', t('menu'), (event) => menu(event.currentTarget, mainMenu(), t('menu'))),
    h('label.search-box', null, icon('search'), search),
    iconButton('wall', t('wall'), () => go('wall')),
  );
  const pen = h('button.pen', { type: 'button', title: t('newDialog'), 'aria-label': t('newDialog'), onclick: newDialog }, icon('pen'));
  const sidebar = h('nav.sidebar', { 'aria-label': t('chats') }, head, bar, h('div.list-box', null, list.element, pen), status);
  fill(root, sidebar, h('main.main', null, welcome, page.conversation.element), page.wall.element, page.drawer.element);
  live.onBurst(onBurst, signal);
  live.addEventListener('state', showStatus, { signal });
  live.addEventListener('burst', showStatus, { signal });
  store.addEventListener('clock', showStatus, { signal });
  store.addEventListener('chats', () => (showTitle(), showWelcome()), { signal });
  const beat = setInterval(showStatus, 1000);
  signal.addEventListener('abort', () => clearInterval(beat));
  showStatus();
  showWelcome();
  show();
}

async function onBurst(burst) {
  const open = page.conversation.key;
  await Promise.allSettled([store.refresh([...burst.keys()]), open && burst.has(open) ? page.conversation.refresh(burst.get(open)) : null]);
  page.wall.refresh(burst.keys());
}

function showStatus() {
  const clock = store.loaded ? clockTime(store.now()) : '';
  const state = store.frozenAt !== null && live.state === 'live' ? 'frozen' : live.state;
  page.status.dataset.state = live.state;
  fill(page.status, h('i.lamp'), h('span', null, t(`state_${state}`)), h('span.status-count', null, n('effectCount', store.effects)), h('time', null, clock));
}

function showWelcome() {
  const isEmpty = store.loaded && !store.chats.size;
  const signature = `${isEmpty} ${currentLanguage()} ${store.example}`;
  if (page.welcome.dataset.signature === signature) return;
  page.welcome.dataset.signature = signature;
  const command = store.example;
  const copy = () => navigator.clipboard?.writeText(command).then(() => toast(t('copied', { text: command })));
  fill(
    page.welcome,
    h('img', { src: '/assets/icon.svg', alt: '', width: 72, height: 72 }),
    h('h1', null, t(isEmpty ? 'welcomeEmpty' : 'welcome')),
    h('p', null, t(isEmpty ? 'welcomeEmptyHint' : 'welcomeHint')),
    h('button.command', { type: 'button', onclick: copy, title: t('copy') }, h('code', null, command), icon('copy')),
    h(
      'div.welcome-actions',
      null,
      h('button.quiet', { type: 'button', onclick: newDialog }, icon('pen'), t('newDialog')),
      h('button.quiet', { type: 'button', onclick: () => go('wall') }, icon('wall'), t('wall')),
      h('button.quiet', { type: 'button', onclick: help }, icon('keys'), t('help')),
    ),
  );
}

// -- menu

function mainMenu() {
  const dark = isDark();
  return [
    { label: chosenName() ?? t('whoAreYou'), note: chosenName() ? t('actingAs') : '', icon: 'person', run: choosePerson },
    { label: t('newDialog'), icon: 'pen', run: newDialog },
    'line',
    { label: t('wall'), icon: 'wall', run: () => go('wall') },
    { label: t('sandbox'), icon: 'tools', run: () => page.drawer.toggle(true) },
    'line',
    { label: t(dark ? 'light' : 'dark'), icon: dark ? 'sun' : 'moon', run: switchTheme },
    ...Object.entries(LANGUAGES).map(([code, name]) => ({ label: name, icon: 'globe', checked: code === currentLanguage(), run: () => switchLanguage(code) })),
    { label: t('help'), icon: 'keys', run: help },
  ];
}

const isDark = () => (document.documentElement.dataset.theme ?? (matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light')) === 'dark';

function switchTheme() {
  const theme = isDark() ? 'light' : 'dark';
  localStorage.setItem('theme', theme);
  document.documentElement.dataset.theme = theme;
}

function switchLanguage(code) {
  localStorage.setItem('language', code);
  speak(code);
  build();
}

function newDialog() {
  chooseBot((provider, bot) =>
    trying(async () => {
      const person = await actingIn(provider);
      if (!person) return;
      const theirs = [...store.chats.values()].find((chat) => chat.provider === provider && DIALOGS.has(chat.kind) && chat.bots[0]?.id === bot.id && chat.people[0]?.id === person.id);
      if (theirs) return go(theirs.key);
      const { chat } = await api.act(provider, 'starts', { person: person.id, bot: bot.id });
      await store.read(keyOf(provider, chat));
      go(keyOf(provider, chat));
    }),
  );
}

// -- keys

const KEYS = {
  '/': () => page.search.focus(),
  '?': help,
  w: () => go(place() === 'wall' ? '' : 'wall'),
  s: () => page.drawer.toggle(),
  n: newDialog,
  t: switchTheme,
  j: () => page.list.focus(),
  k: () => page.list.focus(),
};

function onKey(event) {
  if (document.querySelector('dialog[open], .menu')) return;
  if (event.altKey && (event.key === 'ArrowDown' || event.key === 'ArrowUp')) {
    event.preventDefault();
    return page.list.neighbour(event.key === 'ArrowDown' ? 1 : -1);
  }
  if (event.key === 'Escape') return goBack();
  const writes = event.target.closest?.('input, textarea, select');
  if (writes || event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
  const does = KEYS[event.key];
  if (!does) return;
  event.preventDefault();
  does();
}

function goBack() {
  if (!page.drawer.element.hidden) return page.drawer.toggle(false);
  if (document.activeElement === page.search && page.search.value) {
    page.search.value = '';
    page.search.dispatchEvent(new Event('input'));
    return;
  }
  go('');
  page.list.focus();
}

// -- beginning

async function start() {
  document.body.append(root, ...overlays);
  build();
  addEventListener('hashchange', show);
  addEventListener('keydown', onKey);
  const began = store.load();
  store.addEventListener('loaded', () => (show(), live.open()), { once: true });
  live.addEventListener('anew', show);
  try {
    await began;
  } catch (error) {
    console.error(error);
    toast(t('unreachable'), 'error');
    setTimeout(() => location.reload(), 3000);
  }
}

start();
