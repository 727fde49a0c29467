/**
 * Messages as bubbles. `partsOf` cuts a conversation into what is drawn as one piece: a day, a service line, a bubble
 * (one message, or an album); `drawn` makes its element.
 */

import { avatar } from './avatar.js';
import { h, icon } from './dom.js';
import { formatted, link, safeAddress } from './formatted.js';
import { mediaPart, mediaWord } from './media.js';
import { DIALOGS } from './store.js';
import { compact, dayTitle, fullTime, sameDay, t, time } from './words.js';

const TOGETHER = 15 * 60; // seconds between messages of one sender that still stand together
const COLOURS = 8;

/** What a chat's message says in a line of a list: `{who, text}`. */
export function summary(message) {
  if (!message) return { who: '', text: '' };
  const text = message.text.replace(/\s+/g, ' ').trim() || mediaWord(message.media);
  const icons = message.media?.length && message.text ? `${mediaWord(message.media)} · ` : '';
  return { who: message.service ? '' : message.sender.name, text: message.service ? message.text : icons + text };
}

/** @returns {{key: string, day?: number, messages: any[], first: boolean, last: boolean}[]} */
export function partsOf(messages, now) {
  const parts = [];
  let before = null;
  for (const message of messages) {
    if (!before || !sameDay(before.at, message.at)) parts.push(dayPart(message.at, now));
    const previous = parts.at(-1);
    if (message.album && previous.album === message.album && !message.service) previous.messages.push(message);
    else parts.push(bubblePart(message, previous));
    before = message;
  }
  return parts;
}

function dayPart(at, now) {
  return { key: `day ${new Date(at * 1000).toDateString()}`, day: dayTitle(at, now), messages: [], first: true, last: true };
}

function bubblePart(message, previous) {
  const joins = previous?.messages.length && !message.service && standTogether(previous.messages[0], message);
  if (joins) previous.last = false;
  return { key: `m ${message.id}`, album: message.album, messages: [message], first: !joins, last: true };
}

function standTogether(one, other) {
  return !one.service && one.sender.id === other.sender.id && one.sender.kind === other.sender.kind && Math.abs(other.at - one.at) < TOGETHER;
}

/** Changes when the element has to be drawn anew. */
export const signatureOf = (part) => JSON.stringify([part.day, part.first, part.last, part.messages]);

/**
 * @param {object} scene `{chat, mine(sender), does}`: whose words stand on the right, and what clicks do
 */
export function drawn(part, scene) {
  if (part.day) return h('div.day', { role: 'separator' }, h('span', null, part.day));
  if (part.messages[0].service) return h('div.service', null, h('span', null, part.messages[0].text));
  return bubble(part, scene);
}

function bubble(part, scene) {
  const { chat } = scene;
  const message = part.messages.find((each) => each.text) ?? part.messages[0];
  const first = part.messages[0];
  const out = scene.mine(first.sender);
  const media = part.messages.flatMap((each) => each.media ?? []);
  const shown = media.length ? mediaPart(chat.provider, media) : null;
  const text = message.text ? h('div.text', { dir: 'auto' }, formatted(message.text, message.entities, scene.does), meta(message)) : null;
  const above = text && message.caption_above;
  const bare = !text && media.length > 0;
  const inside = h(
    `div.bubble${bare ? '.bare' : ''}${media.length ? '.with-media' : ''}`,
    null,
    heading(first, part, scene, out),
    first.forwarded_from ? h('div.forwarded', null, t('forwardedFrom'), ' ', h('b', null, first.forwarded_from)) : null,
    first.reply_to ? quoteOf(first.reply_to, scene) : null,
    above ? text : null,
    shown ? h('div.media', null, shown) : null,
    above ? null : text,
    preview(message),
    text ? null : meta(message),
  );
  const keyboard = part.messages.find((each) => each.buttons?.length);
  const classes = [out ? 'out' : 'in', part.first ? 'first' : '', part.last ? 'last' : '', message.pinned ? 'pinned' : ''];
  const showsFace = !out && !DIALOGS.has(chat.kind) && chat.kind !== 'channel';
  return h(
    `article.message.${classes.filter(Boolean).join('.')}`,
    { 'data-id': String(first.id), 'aria-label': spoken(first, message), tabIndex: -1 },
    showsFace ? h('div.face', null, part.last ? avatar(chat.provider, first.sender.id, first.sender.name) : null) : null,
    h('div.column', null, inside, keyboard ? buttons(keyboard, scene) : null),
    h('button.reply-here', { type: 'button', title: t('reply'), 'aria-label': t('reply'), tabIndex: -1, onclick: () => scene.does.onReply(first) }, icon('reply')),
  );
}

function heading(message, part, { chat }, out) {
  const named = part.first && !out && !DIALOGS.has(chat.kind) && chat.kind !== 'channel';
  const topic = part.first && message.thread !== undefined;
  if (!named && !topic) return null;
  return h(
    'div.heading',
    null,
    named ? h(`span.sender.ink-${Math.abs(message.sender.id) % COLOURS}`, null, message.sender.name) : null,
    named && message.sender.kind === 'bot' ? h('span.role', null, t('bot')) : null,
    topic ? h('span.role', null, t('topic', { number: message.thread })) : null,
  );
}

function spoken(first, message) {
  return `${first.sender.name}, ${time(message.at)}: ${summary(message).text}`.slice(0, 300);
}

function meta(message) {
  const title = [fullTime(message.at), `id ${message.id}`];
  if (message.edited_at) title.push(t('editedAt', { time: fullTime(message.edited_at) }));
  return h(
    'span.meta',
    { title: title.join('\n') },
    message.pinned ? icon('pin') : null,
    message.views ? h('span.views', null, icon('eye'), compact(message.views)) : null,
    message.edited_at ? h('span.edited', null, t('edited')) : null,
    h('time', null, time(message.at)),
  );
}

function quoteOf(reply, scene) {
  const who = typeof reply.sender === 'string' ? reply.sender : (reply.sender?.name ?? '');
  return h(
    'button.quoted',
    { type: 'button', onclick: () => scene.does.onJump(reply.id) },
    h('b', null, who || t('message')),
    h('span', null, reply.text || t('message')),
  );
}

function preview(message) {
  const url = message.preview?.url;
  if (!url) return null;
  const address = safeAddress(url);
  const inside = [
    h('b', null, message.preview.title ?? siteOf(url)),
    message.preview.description ? h('span', null, message.preview.description) : null,
    h('small', null, url),
  ];
  return address ? link(address, 'a.preview', inside) : h('div.preview', null, inside);
}

function siteOf(url) {
  try {
    return new URL(url).hostname || url;
  } catch {
    return url;
  }
}

// -- buttons

const BUTTON_ICONS = { url: 'link', copy: 'copy', contact: 'person', location: 'place', app: 'wall' };

function buttons(message, scene) {
  const rows = message.buttons.map((row, at) => h('div.button-row', null, row.map((button, column) => inlineButton(message, button, at, column, scene))));
  return h('div.buttons', null, rows);
}

function inlineButton(message, button, row, column, scene) {
  const sign = BUTTON_ICONS[button.kind];
  const inside = [h('span.button-text', null, button.text), sign ? icon(sign, 'corner') : null];
  const address = button.kind === 'url' || button.kind === 'app' ? safeAddress(button.data ?? '') : null;
  if (address) return link(address, 'a.inline-button', inside);
  const press = (event) => scene.does.onPress(message, button, row, column, event.currentTarget);
  return h('button.inline-button', { type: 'button', onclick: press, title: button.kind === 'copy' ? t('copies', { text: button.data ?? '' }) : '' }, inside);
}

/** A few words and pictures of a message, for tiles of the wall. */
export function smallBubble(message, provider) {
  const line = summary(message);
  const photo = message.media?.find((each) => each.kind === 'photo' && each.file);
  return h(
    `div.small-bubble${message.service ? '.service-line' : ''}`,
    { 'data-id': String(message.id) },
    photo ? mediaPart(provider, [photo]) : null,
    h('div.small-text', { dir: 'auto' }, message.text && !message.service ? formatted(message.text.slice(0, 400), message.entities) : line.text),
    h('span.small-time', null, message.edited_at ? `${t('edited')} ` : '', time(message.at)),
  );
}
