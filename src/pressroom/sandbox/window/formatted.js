/**
 * A text with its entities as elements. Entities may nest, overlap, reach past the end or cut a character in two: what
 * overlaps is split, as messengers do. Offsets are UTF-16 units, which are what strings are made of here.
 */

import { h } from './dom.js';
import { fullTime, t } from './words.js';

const SAFE = new Set(['http:', 'https:', 'tg:', 'mailto:', 'tel:']);
const BLOCKS = new Set(['pre', 'blockquote', 'expandable_blockquote']);
const TAGS = {
  bold: 'strong',
  italic: 'em',
  underline: 'u',
  strikethrough: 's',
  code: 'code',
  heading: 'strong.heading',
  highlighted: 'mark',
};

/** The address when it is of a kind that may be opened, else null. */
export function safeAddress(given) {
  try {
    const address = new URL(given);
    return SAFE.has(address.protocol) ? address.href : null;
  } catch {
    return null;
  }
}

/** @param {{onMention?: Function, onCommand?: Function}} [does] what clicks on names and commands do */
export function formatted(text, entities, does = {}) {
  const root = document.createDocumentFragment();
  const open = [{ element: root, end: Infinity }];
  const whole = valid(text, entities);
  const edges = [...new Set([0, text.length, ...whole.flatMap((each) => [each.offset, each.end])])].sort((a, b) => a - b);
  let next = 0;
  let afterBlock = false;
  edges.slice(0, -1).forEach((from, index) => {
    const reopened = closed(open, from);
    while (next < whole.length && whole[next].offset === from) reopened.push(whole[next++]);
    for (const entity of byWidth(reopened)) opened(open, entity, text, does);
    let piece = text.slice(from, edges[index + 1]);
    if (afterBlock && piece.startsWith('\n') && !inBlock(open)) piece = piece.slice(1);
    afterBlock = inBlock(open);
    open.at(-1).element.append(piece);
  });
  return root;
}

function valid(text, entities = []) {
  return entities
    .map((each) => ({ ...each, end: Math.min(each.offset + each.length, text.length) }))
    .filter((each) => each.offset >= 0 && each.end > each.offset)
    .sort((a, b) => a.offset - b.offset || b.end - a.end);
}

const byWidth = (entities) =>
  entities.sort((a, b) => b.end - a.end || Number(BLOCKS.has(b.type)) - Number(BLOCKS.has(a.type)));
const inBlock = (open) => open.some(({ entity }) => entity && BLOCKS.has(entity.type));

/** Closes what ends here; gives those that stood inside and go on. */
function closed(open, at) {
  const first = open.findIndex((each) => each.end <= at);
  if (first < 0) return [];
  return open
    .splice(first)
    .map((each) => each.entity)
    .filter((entity) => entity.end > at);
}

function opened(open, entity, text, does) {
  const element = elementFor(entity, text.slice(entity.offset, entity.end), does);
  open.at(-1).element.append(element);
  open.push({ element: element.querySelector('[data-content]') ?? element, end: entity.end, entity });
}

function elementFor(entity, covered, does) {
  const type = entity.type;
  if (TAGS[type]) return h(TAGS[type]);
  if (type === 'spoiler') return spoiler();
  if (type === 'pre') return codeBlock(entity.language, covered);
  if (BLOCKS.has(type)) return quote(type === 'expandable_blockquote');
  if (type === 'custom_emoji') return h('span.custom-emoji', { title: t('customEmoji') });
  if (type === 'date_time') return h('time.dated', { title: entity.unix_time ? fullTime(entity.unix_time) : '' });
  if (type === 'mention' || type === 'text_mention' || type === 'user_mention') return mention(entity, covered, does);
  if (type === 'bot_command') return pressable('bot-command', () => does.onCommand?.(covered));
  if (type === 'hashtag' || type === 'cashtag') return h('span.hashtag');
  const address = addressOf(type, entity, covered);
  return address ? link(address) : h('span.not-a-link', type === 'text_link' ? { title: entity.url } : null);
}

function addressOf(type, entity, covered) {
  if (type === 'text_link' || type === 'link') return safeAddress(entity.url ?? covered);
  if (type === 'url') return safeAddress(/^[a-z][a-z\d+.-]*:\/\//i.test(covered) ? covered : `https://${covered}`);
  if (type === 'email') return safeAddress(`mailto:${covered}`);
  if (type === 'phone_number') return safeAddress(`tel:${covered.replace(/[^\d+]/g, '')}`);
  return null;
}

export function link(address, what = 'a', ...children) {
  return h(what, { href: address, title: address, target: '_blank', rel: 'noopener noreferrer nofollow' }, ...children);
}

function mention(entity, covered, does) {
  if (covered.startsWith('@')) return pressable('mention', () => does.onMention?.(covered.slice(1)));
  return h('span.mention', { title: entity.user_id ? `id ${entity.user_id}` : '' });
}

function pressable(name, act) {
  const press = (event) => {
    if (event.type === 'keydown' && event.key !== 'Enter' && event.key !== ' ') return;
    event.preventDefault();
    act();
  };
  return h(`span.${name}`, { role: 'button', tabIndex: 0, onclick: press, onkeydown: press });
}

/** Uncovers all spoilers of its message, as messengers do. */
function spoiler() {
  const uncover = (event) => {
    if (event.type === 'keydown' && event.key !== 'Enter' && event.key !== ' ') return;
    const message = event.currentTarget.closest('.text') ?? event.currentTarget.parentElement;
    const covered = message.querySelectorAll('.spoiler:not(.uncovered)');
    if (!covered.length) return;
    event.preventDefault();
    event.stopPropagation();
    for (const each of covered) uncovered(each);
  };
  const inside = h('span', { 'data-content': '', 'aria-hidden': 'true' });
  return h('span.spoiler', { role: 'button', tabIndex: 0, 'aria-label': t('spoiler'), onclick: uncover, onkeydown: uncover }, inside);
}

function uncovered(element) {
  element.classList.add('uncovered');
  for (const name of ['role', 'tabindex', 'aria-label']) element.removeAttribute(name);
  element.firstElementChild.removeAttribute('aria-hidden');
}

function codeBlock(language, covered) {
  const copy = h('button.copy-code', { type: 'button', onclick: () => navigator.clipboard?.writeText(covered) }, t('copy'));
  return h('pre', null, h('span.code-title', null, h('span', null, language ?? t('code')), copy), h('code', { 'data-content': '' }));
}

function quote(expandable) {
  if (!expandable) return h('blockquote');
  const element = h('blockquote.expandable', null, h('span', { 'data-content': '' }));
  const toggle = () => {
    const isOpen = element.classList.toggle('expanded');
    button.setAttribute('aria-expanded', String(isOpen));
    button.setAttribute('aria-label', t(isOpen ? 'collapse' : 'expand'));
  };
  const button = h('button.expand', { type: 'button', 'aria-expanded': 'false', 'aria-label': t('expand'), onclick: toggle });
  element.append(button);
  return element;
}
