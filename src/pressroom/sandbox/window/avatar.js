/** A face for those who have none: initials on a colour that goes with the id. */

import { h, icon } from './dom.js';

const COLOURS = 8;

export function initials(title) {
  const words = (title ?? '').replace(/\(.*?\)/gu, ' ').replace(/[^\p{L}\p{N}\s]/gu, ' ').trim().split(/\s+/u).filter(Boolean);
  const first = (word) => [...word][0] ?? '';
  if (!words.length) return [...(title ?? '?').trim()][0] ?? '?';
  if (words.length > 1 && /^\d{1,3}$/u.test(words.at(-1))) return words.at(-1);
  return (first(words[0]) + (words.length > 1 ? first(words.at(-1)) : '')).toUpperCase();
}

export function avatar(provider, id, title, { mark = false } = {}) {
  const colour = Math.abs(Number(id) || 0) % COLOURS;
  return h(
    `span.avatar.${provider}.colour-${colour}`,
    { 'aria-hidden': 'true' },
    h('span.avatar-face', null, initials(title)),
    mark ? providerMark(provider) : null,
  );
}

/** Which messenger it is, small, in a drawing of our own. */
export function providerMark(provider) {
  return h(`span.mark.${provider}`, { title: provider === 'max' ? 'MAX' : 'Telegram' }, provider === 'telegram' ? icon('telegram') : 'M');
}
