/** Where the person writes: a field that grows, files, what is answered or edited, and who is speaking. */

import * as api from './api.js';
import { fill, h, icon, iconButton } from './dom.js';
import { formatted } from './formatted.js';
import { mediaWord } from './media.js';
import { toast, trying } from './overlay.js';
import { actingIn, chosenName } from './people.js';
import { DIALOGS } from './store.js';
import { size, t } from './words.js';

const MOST_BYTES = 40 << 20; // as base64 it has to fit into one body of the control API
const drafts = new Map();

/** What a person's deed in this chat is done as: its own person in a dialog, else the chosen one. */
export async function actorIn(chat) {
  if (DIALOGS.has(chat.kind) && chat.people[0]) return chat.people[0];
  return actingIn(chat.provider);
}

/** @returns {{element: Element, show: (chat: any) => void, reply: Function, edit: Function, focus: Function}} */
export function composer({ onSent }) {
  let chat = null;
  let files = [];
  let about = null; // {what: 'reply' | 'edit', message}

  const field = h('textarea.write', { rows: 1, dir: 'auto', autocomplete: 'off' });
  const strip = h('div.attached', { hidden: true });
  const aboutBar = h('div.about', { hidden: true });
  const picker = h('input', { type: 'file', multiple: true, hidden: true, 'aria-label': t('attach'), tabIndex: -1 });
  const attach = iconButton('attach', t('attach'), () => picker.click());
  const sendButton = iconButton('send', t('send'), () => send(), '.send');
  const bar = h('div.composer-row', null, attach, field, sendButton, picker);
  const instead = h('div.instead', { hidden: true });
  const element = h('footer.composer', { hidden: true }, aboutBar, strip, bar, instead);

  const grow = () => {
    field.style.height = 'auto';
    field.style.height = `${Math.min(field.scrollHeight, 200)}px`;
    element.classList.toggle('ready', Boolean(field.value.trim() || files.length));
  };

  function show(next) {
    const changed = chat?.key !== next.key;
    if (changed && chat) drafts.set(chat.key, field.value);
    chat = next;
    element.hidden = false;
    if (changed) {
      field.value = drafts.get(chat.key) ?? '';
      files = [];
      setAbout(null);
      showFiles();
    }
    const words = placeholder(chat);
    field.placeholder = words;
    field.setAttribute('aria-label', words);
    showInstead();
    grow();
  }

  /** A blocked or a new dialog has one thing to do. */
  function showInstead() {
    const verb = insteadOfWriting(chat);
    instead.hidden = !verb;
    bar.hidden = Boolean(verb);
    if (verb) fill(instead, h('button.wide-button', { type: 'button', onclick: () => trying(() => doInDialog(chat, verb).then(() => onSent(chat.key))) }, t(`verb_${verb}`)));
  }

  function setAbout(next) {
    about = next;
    aboutBar.hidden = !about;
    if (!about) return;
    const { message, what } = about;
    fill(
      aboutBar,
      icon(what === 'edit' ? 'pen' : 'reply'),
      h('span.about-body', null, h('b', null, what === 'edit' ? t('editing') : message.sender.name), h('span', null, formatted(message.text || mediaWord(message.media), []))),
      iconButton('close', t('cancel'), () => setAbout(null)),
    );
    field.focus();
  }

  function showFiles() {
    strip.hidden = !files.length;
    fill(strip, files.map((file) => attached(file, () => takeAway(file))));
    grow();
  }

  const takeAway = (file) => {
    files = files.filter((each) => each !== file);
    showFiles();
  };

  function add(given) {
    for (const file of given) {
      const total = files.reduce((sum, each) => sum + each.size, file.size);
      if (total > MOST_BYTES) toast(t('tooLarge', { size: size(MOST_BYTES) }), 'error');
      else files.push(file);
    }
    showFiles();
    field.focus();
  }

  async function send() {
    const text = field.value.trim();
    if (!text && !files.length) return;
    const [to, given, concerning] = [chat, files, about];
    const done = await trying(async () => {
      const media = await Promise.all(given.map(asMedia));
      return deliver(to, text, media, concerning);
    });
    if (!done) return;
    drafts.delete(to.key);
    if (chat.key === to.key) {
      field.value = '';
      files = [];
      setAbout(null);
      showFiles();
    }
    onSent(to.key);
  }

  field.addEventListener('input', grow);
  field.addEventListener('keydown', (event) => {
    if (event.key === 'Escape' && about) {
      setAbout(null);
      event.stopPropagation();
    }
    if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    send();
  });
  field.addEventListener('paste', (event) => {
    if (!event.clipboardData?.files.length) return;
    event.preventDefault();
    add(event.clipboardData.files);
  });
  picker.addEventListener('change', () => {
    add(picker.files);
    picker.value = '';
  });

  return {
    element,
    show,
    add,
    reply: (message) => setAbout({ what: 'reply', message }),
    edit(message) {
      setAbout({ what: 'edit', message });
      field.value = message.text;
      grow();
    },
    focus: () => field.focus(),
    hide: () => (element.hidden = true),
  };
}

function placeholder(chat) {
  if (chat.kind === 'channel') return t('writePost');
  const name = DIALOGS.has(chat.kind) ? (chat.people[0]?.name ?? chosenName()) : chosenName();
  return name ? t('writeAs', { name }) : t('write');
}

function insteadOfWriting(chat) {
  if (!DIALOGS.has(chat.kind)) return null;
  if (chat.state === 'blocked') return 'unblocks';
  return chat.messages === 0 ? 'starts' : null;
}

/** @param {'starts'|'blocks'|'unblocks'} verb */
export async function doInDialog(chat, verb) {
  const person = await actorIn(chat);
  return person && api.act(chat.provider, verb, { person: person.id, bot: chat.bots[0].id });
}

export async function write(chat, text) {
  return deliver(chat, text, [], null);
}

async function deliver(chat, text, media, about) {
  const said = { chat: chat.id };
  if (text) said.text = text;
  if (media.length) said.media = media;
  if (chat.kind === 'channel' && about?.what !== 'edit') return api.act(chat.provider, 'posts', said);
  const person = await actorIn(chat);
  if (!person) return null;
  if (about?.what === 'edit') return api.act(chat.provider, 'edits', { person: person.id, chat: chat.id, message_id: about.message.id, text });
  if (about) said.reply_to = about.message.id;
  return api.act(chat.provider, 'writes', { person: person.id, ...said });
}

function kindOf(type) {
  if (type === 'image/gif') return 'animation';
  return { image: 'photo', video: 'video', audio: 'audio' }[type.split('/')[0]] ?? 'document';
}

async function asMedia(file) {
  const type = file.type || 'application/octet-stream';
  return { kind: kindOf(type), name: file.name, type, data: await base64(file) };
}

function base64(file) {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(reader.result.slice(reader.result.indexOf(',') + 1));
    reader.onerror = () => reject(reader.error);
    reader.readAsDataURL(file);
  });
}

function attached(file, onremove) {
  const isPicture = file.type.startsWith('image/');
  const src = isPicture ? URL.createObjectURL(file) : '';
  const shown = isPicture ? h('img', { src, alt: '', onload: () => URL.revokeObjectURL(src) }) : icon('file');
  return h('div.attachment', null, shown, h('span', null, file.name, h('small', null, size(file.size))), iconButton('close', t('takeAway', { name: file.name }), onremove));
}
