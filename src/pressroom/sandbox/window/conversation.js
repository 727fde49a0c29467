/** One chat: its head, its messages with older ones on scroll, and what a click on them does. */

import * as api from './api.js';
import { actorIn, composer, doInDialog, write } from './composer.js';
import { fill, h, icon, iconButton } from './dom.js';
import { faceOf, titleOf } from './list.js';
import { drawn, partsOf, signatureOf, summary } from './message.js';
import { announce, ask, dialog, enlarged, menu, toast, trying } from './overlay.js';
import { personIn } from './people.js';
import { DIALOGS, store } from './store.js';
import { compact, n, t } from './words.js';

const PAGE = 50;
const MOST = 300; // messages kept while at the end of a chat; who scrolls up keeps all that they have read
const NEAR = 100; // px
const ANSWER_SECONDS = 10;

/** @param {{onBack: Function, onOpen: (key: string) => void, signal: AbortSignal}} given */
export function conversation({ onBack, onOpen, signal }) {
  let key = null;
  let messages = [];
  let more = false;
  let stuck = true;
  let behind = 0; // new messages below the part in sight
  let gap = false; // the newest are not joined to those shown
  let loading = null;

  const head = h('header.chat-head');
  const pinnedBar = h('button.pinned-bar', { type: 'button', hidden: true });
  const inner = h('div.messages');
  const scroller = h('div.scroller', { role: 'log', 'aria-live': 'off', 'aria-label': t('messages'), tabIndex: 0 }, inner);
  const down = h('button.down', { type: 'button', hidden: true, 'aria-label': t('toNewest'), title: t('toNewest'), onclick: () => toEnd() }, h('span.badge', { hidden: true }), icon('down'));
  const writing = composer({ onSent: () => toEnd() });
  const element = h('section.conversation', { hidden: true, 'aria-label': t('conversation') }, head, pinnedBar, h('div.stage', null, scroller, down), writing.element);
  const shown = new Map();

  const chat = () => store.chats.get(key);
  const scene = () => ({ chat: chat(), mine, does });

  function mine(sender) {
    if (sender.kind !== 'person') return false;
    return DIALOGS.has(chat().kind) || sender.id === personIn(chat().provider)?.id;
  }

  // -- opening and reading

  async function open(next) {
    key = next;
    [messages, more, stuck, gap, behind] = [[], false, true, false, 0];
    shown.clear();
    inner.replaceChildren();
    element.hidden = false;
    element.classList.add('loading');
    const found = chat() ?? (await trying(() => store.read(next)));
    if (key !== next) return;
    if (!found) return void onBack();
    element.dataset.provider = found.provider;
    element.dataset.kind = found.kind;
    showHead();
    writing.show(found);
    const page = await trying(() => read());
    if (key !== next || !page || !chat()) return;
    element.classList.remove('loading');
    messages = page;
    more = page.length === PAGE;
    draw();
    scrollToEnd();
    store.look(key);
    fillScreen();
  }

  /** Who cannot scroll could not ask for more. */
  function fillScreen() {
    if (more && scroller.scrollTop < NEAR) older();
  }

  function read(before) {
    const { provider, id } = chat();
    return api.messagesOf(provider, id, PAGE, before);
  }

  async function older() {
    if (loading || !more || !messages.length) return loading;
    const at = key;
    loading = trying(() => read(messages[0].id)).then((page) => {
      loading = null;
      if (at !== key || !page || !chat()) return;
      more = page.length === PAGE;
      const known = new Set(messages.map((message) => message.id));
      messages = [...page.filter((message) => !known.has(message.id)), ...messages];
      draw();
      fillScreen();
    });
    return loading;
  }

  /** What effects have changed of the messages that are shown. */
  async function refresh(effects) {
    const at = key;
    if (!chat()) return;
    showAnswers(effects);
    const deleted = new Set(effects.filter((effect) => /delete/i.test(effect.method)).map((effect) => String(effect.message_id)));
    const page = await read();
    if (at !== key || !chat()) return;
    const before = messages.at(-1);
    messages = messages.filter((message) => !deleted.has(String(message.id)));
    merge(page);
    await rereadOlder(effects, page, at);
    if (at !== key || !chat()) return;
    noticeNew(before);
    draw();
    if (!stuck) showDown();
    else if (document.visibilityState === 'visible') store.look(key);
  }

  function merge(page) {
    const inPage = new Set(page.map((message) => message.id));
    const joint = messages.findIndex((message) => inPage.has(message.id));
    if (joint >= 0) {
      const before = messages.slice(0, joint).filter((message) => message.at <= page[0].at);
      messages = [...before, ...page];
      gap = false;
    } else if (stuck || page.length < PAGE || !messages.length) {
      messages = page;
      more = page.length === PAGE;
      gap = false;
    } else gap = true;
    if (stuck && messages.length > MOST) {
      messages = messages.slice(-MOST / 2);
      more = true;
    }
  }

  async function rereadOlder(effects, page, at) {
    const fresh = new Set(page.map((message) => String(message.id)));
    const touched = new Set(effects.map((effect) => String(effect.message_id)));
    const old = messages.filter((message) => touched.has(String(message.id)) && !fresh.has(String(message.id))).slice(-20);
    const { provider, id } = chat();
    const read = await Promise.allSettled(old.map((message) => api.messageOf(provider, id, message.id)));
    if (at !== key) return;
    read.forEach(({ value, reason }, index) => {
      const place = messages.findIndex((message) => message.id === old[index].id);
      if (value) messages[place] = value;
      else if (reason.status === 404) messages.splice(place, 1);
    });
  }

  function noticeNew(before) {
    const from = before ? messages.findIndex((message) => message.id === before.id) + 1 : 0;
    const fresh = from > 0 ? messages.slice(from) : [];
    if (!stuck) behind += fresh.length;
    const newest = fresh.at(-1);
    if (newest && !mine(newest.sender)) announce(`${newest.sender.name}: ${summary(newest).text}`.slice(0, 200));
  }

  // -- drawing

  function draw() {
    const now = store.now();
    const held = stuck ? null : heldPlace();
    const used = new Set();
    const first = !shown.size;
    let place = inner.firstChild;
    for (const part of partsOf(messages, now)) {
      let name = part.key;
      while (used.has(name)) name += '+'; // a clock that was set back shows a day twice
      used.add(name);
      const isHere = place && shown.get(name)?.element === place;
      const node = partElement(name, part, first);
      if (isHere) place = node;
      if (node === place) place = place.nextSibling;
      else inner.insertBefore(node, place);
    }
    for (const [name, { element: node }] of shown)
      if (!used.has(name)) {
        node.remove();
        shown.delete(name);
      }
    if (!messages.length) showNothing();
    else inner.querySelector('.nothing')?.remove();
    showPinned();
    if (held) held();
    else scrollToEnd();
  }

  function partElement(name, part, first) {
    const signature = signatureOf(part);
    const known = shown.get(name);
    if (known?.signature === signature) return known.element;
    const node = drawn(part, scene());
    if (known) {
      keepUncovered(known.element, node);
      known.element.replaceWith(node);
    } else if (!first && part.messages.length && part.messages.at(-1) === messages.at(-1)) node.classList.add('arrived');
    shown.set(name, { element: node, signature });
    return node;
  }

  function showNothing() {
    if (inner.querySelector('.nothing')) return;
    inner.append(h('div.nothing', null, h('b', null, t('noMessages')), h('span', null, t(DIALOGS.has(chat().kind) ? 'emptyDialog' : 'emptyChat'))));
  }

  /** What stands at the top of the part in sight stays there while others come and go. */
  function heldPlace() {
    const top = scroller.getBoundingClientRect().top;
    // A day sticks to the top, so it says nothing of the place.
    const node = [...inner.children].find((child) => !child.matches('.day') && child.getBoundingClientRect().bottom > top);
    if (!node) return () => {};
    const before = node.getBoundingClientRect().top;
    const id = node.dataset.id;
    return () => {
      const now = node.isConnected ? node : id && elementOf(id);
      if (now) scroller.scrollTop += now.getBoundingClientRect().top - before;
    };
  }

  function scrollToEnd() {
    scroller.scrollTop = scroller.scrollHeight;
  }

  async function toEnd() {
    stuck = true;
    if (gap) await refresh([]);
    scrollToEnd();
    showDown();
  }

  function showDown() {
    const far = !stuck;
    down.hidden = !far;
    if (!far) behind = 0;
    const badge = down.firstChild;
    badge.hidden = !behind;
    badge.textContent = compact(behind);
  }

  const elementOf = (id) => {
    const part = [...shown.values()].find(({ element: node }) => node.dataset.id === String(id));
    if (part) return part.element;
    const inAlbum = messages.find((message) => String(message.id) === String(id))?.album;
    const lead = inAlbum && messages.find((message) => message.album === inAlbum);
    return lead ? inner.querySelector(`[data-id="${CSS.escape(String(lead.id))}"]`) : null;
  };

  async function jump(id) {
    for (let pages = 0; pages < 6 && !elementOf(id) && more; pages += 1) {
      stuck = false;
      await older();
    }
    const node = elementOf(id);
    if (!node) return toast(t('notLoaded'));
    stuck = false;
    node.scrollIntoView({ block: 'center' });
    node.classList.remove('flash');
    requestAnimationFrame(() => node.classList.add('flash'));
  }

  // -- head

  function showHead() {
    const now = chat();
    if (!now) return;
    fill(
      head,
      iconButton('back', t('back'), onBack, '.go-back'),
      faceOf(now, { mark: true }),
      h('div.chat-names', null, h('h1', { dir: 'auto' }, titleOf(now)), h('p', null, subtitle(now))),
      iconButton('more', t('chatMenu'), (event) => menu(event.currentTarget, chatActions(now), t('chatMenu'))),
    );
  }

  let pinnedAt = 0;
  function showPinned() {
    const pinned = messages.filter((message) => message.pinned).reverse();
    pinnedBar.hidden = !pinned.length;
    if (!pinned.length) return;
    const at = pinned[pinnedAt % pinned.length];
    fill(pinnedBar, icon('pin'), h('span', null, h('b', null, pinned.length > 1 ? `${t('pinned')} · ${pinned.length}` : t('pinned')), h('span', null, summary(at).text)));
    pinnedBar.onclick = () => {
      pinnedAt += 1;
      jump(at.id);
      showPinned();
    };
  }

  function chatActions(now) {
    const inDialog = DIALOGS.has(now.kind);
    const asPerson = async (verb) => {
      const person = await actorIn(now);
      return person && act(verb, { person: person.id, chat: now.id });
    };
    const act = (verb, wish) => trying(() => api.act(now.provider, verb, wish));
    const rename = async () => {
      const title = await ask(t('verb_renames'), t('title'), now.title);
      if (title) act('renames', { chat: now.id, title });
    };
    const dialogVerbs = inDialog && now.bots[0] ? ['starts', now.state === 'blocked' ? 'unblocks' : 'blocks'] : [];
    return [
      ...dialogVerbs.map((verb) => ({ label: t(`verb_${verb}`), icon: verb === 'starts' ? 'play' : 'person', danger: verb === 'blocks', run: () => trying(() => doInDialog(now, verb)) })),
      ...(inDialog ? [] : ['joins', 'leaves'].map((verb) => ({ label: t(`verb_${verb}`), icon: verb === 'joins' ? 'person' : 'back', run: () => asPerson(verb) }))),
      inDialog ? null : { label: t('verb_renames'), icon: 'pen', run: rename },
      { label: t('copyId', { id: now.id }), icon: 'copy', run: () => copied(String(now.id)) },
      inDialog ? null : 'line',
      ...(inDialog ? [] : now.bots.slice(0, 4).map((bot) => ({ label: t('kick', { name: bot.name }), icon: 'close', danger: true, run: () => act('removes_bot', { chat: now.id, bot: bot.id }) }))),
      now.kind === 'group' ? { label: t('verb_migrates'), icon: 'group', run: () => act('migrates', { chat: now.id }) } : null,
    ];
  }

  // -- deeds

  const pending = new Set();
  const does = {
    onReply: (message) => writing.reply(message),
    onJump: jump,
    onCommand: (command) => trying(() => write(chat(), command)).then(toEnd),
    onMention(username) {
      const found = store.byUsername(chat().provider, username);
      if (found) onOpen(found.key);
      else toast(t('nobodyCalled', { name: username }));
    },
    onPress: (message, button, row, column, node) => press(message, button, row, column, node),
  };

  async function press(message, button, row, column, node) {
    if (button.kind === 'copy') return copied(button.data ?? '');
    if (button.kind === 'url' || button.kind === 'app') return toast(t('notOpened', { address: button.data ?? '' }), 'error');
    if (button.kind === 'message') return trying(() => write(chat(), button.data ?? button.text)).then(toEnd);
    const by = await trying(() => actorIn(chat()));
    if (!by) return;
    node.classList.add('pending');
    node.setAttribute('aria-busy', 'true');
    pending.add(node);
    setTimeout(() => settle(node), ANSWER_SECONDS * 1000);
    const wish = { person: by.id, chat: chat().id, message_id: message.id };
    const which = button.kind === 'callback' && button.data !== undefined ? { data: button.data } : { row, column };
    if (!(await trying(() => api.act(chat().provider, 'presses', { ...wish, ...which })))) settle(node);
  }

  function settle(node) {
    node.classList.remove('pending');
    node.removeAttribute('aria-busy');
    pending.delete(node);
  }

  /** A bot has answered a press, perhaps with a sentence. */
  function showAnswers(effects) {
    const answers = effects.filter((effect) => /answer/i.test(effect.method));
    if (!answers.length) return;
    for (const node of [...pending]) settle(node);
    for (const { actor, method, text, details } of answers.slice(-2)) {
      // MAX's answers may also change the message; then the text is the message's.
      const said = details?.notification ?? (method === 'answerCallbackQuery' ? text : '');
      if (said && details?.alert) dialog(actor, () => [h('p', null, said)]);
      else if (said) toast(`${actor}: ${said}`);
      if (details?.url) toast(t('notOpened', { address: details.url }));
    }
  }

  function messageActions(message) {
    const own = mine(message.sender);
    const by = (verb) => trying(async () => api.act(chat().provider, verb, { person: (await actorIn(chat())).id, chat: chat().id, message_id: message.id }));
    return [
      { label: t('reply'), icon: 'reply', run: () => writing.reply(message) },
      own && message.text ? { label: t('edit'), icon: 'pen', run: () => writing.edit(message) } : null,
      message.text ? { label: t('copyText'), icon: 'copy', run: () => copied(message.text) } : null,
      { label: t('copyId', { id: message.id }), icon: 'copy', run: () => copied(String(message.id)) },
      own ? { label: t('delete'), icon: 'close', danger: true, run: () => by('deletes') } : null,
    ];
  }

  inner.addEventListener('contextmenu', (event) => {
    const node = event.target.closest('.message');
    if (!node || event.target.closest('a, video, audio') || String(getSelection())) return;
    const message = messages.find((each) => String(each.id) === node.dataset.id);
    if (!message) return;
    event.preventDefault();
    menu({ x: event.clientX, y: event.clientY }, messageActions(message), t('message'));
  });
  inner.addEventListener('dblclick', (event) => {
    const node = event.target.closest('.message');
    const message = node && event.target === node && messages.find((each) => String(each.id) === node.dataset.id);
    if (message) writing.reply(message);
  });
  inner.addEventListener('enlarge', (event) => enlarged(event.detail.src, event.detail.alt));

  // -- scrolling, dropping

  scroller.addEventListener(
    'scroll',
    () => {
      stuck = !gap && scroller.scrollHeight - scroller.scrollTop - scroller.clientHeight < NEAR;
      if (scroller.scrollTop < 600) older();
      if (stuck && key && chat()?.unread) store.look(key);
      showDown();
    },
    { passive: true },
  );
  const settled = new ResizeObserver(() => stuck && scrollToEnd());
  settled.observe(inner);
  settled.observe(scroller);

  element.addEventListener('dragover', (event) => {
    if (!event.dataTransfer?.types.includes('Files')) return;
    event.preventDefault();
    element.classList.add('dropping');
  });
  element.addEventListener('dragleave', (event) => event.relatedTarget && element.contains(event.relatedTarget) || element.classList.remove('dropping'));
  element.addEventListener('drop', (event) => {
    element.classList.remove('dropping');
    if (!event.dataTransfer?.files.length) return;
    event.preventDefault();
    writing.add(event.dataTransfer.files);
  });

  store.addEventListener('chats', ({ detail }) => {
    if (!key || !chat() || (detail && ![...detail].includes(key))) return;
    showHead();
    writing.show(chat());
  }, { signal });
  store.addEventListener('actors', () => {
    if (!key || !chat() || element.classList.contains('loading')) return;
    shown.clear();
    inner.replaceChildren();
    showHead();
    writing.show(chat());
    draw();
  }, { signal });
  document.addEventListener('visibilitychange', () => key && store.look(key), { signal });

  return {
    element,
    open,
    refresh,
    get key() {
      return key;
    },
    close() {
      key = null;
      element.hidden = true;
    },
    write: () => writing.focus(),
  };
}

function subtitle(chat) {
  const kind = t(`chat_${chat.kind}`);
  const facts = [kind];
  if (chat.username) facts.push(`@${chat.username}`);
  if (DIALOGS.has(chat.kind) && chat.bots[0]?.username) facts.push(`@${chat.bots[0].username}`);
  if (!DIALOGS.has(chat.kind)) facts.push(n('messageCount', chat.messages));
  if (chat.state && chat.state !== 'active') facts.push(t(`state_${chat.state}`));
  return facts.join(' · ');
}

async function copied(text) {
  try {
    await navigator.clipboard.writeText(text);
    toast(t('copied', { text: text.length > 60 ? `${text.slice(0, 60)}…` : text }));
  } catch {
    toast(text);
  }
}

/** What was uncovered or unfolded stays so when a message is drawn anew. */
function keepUncovered(before, after) {
  if (before.querySelector('.spoiler.uncovered')) after.querySelector('.spoiler')?.click();
}
