/** Everything that the page says, in the reader's language. */

import { STRINGS } from './strings.js';

export const LANGUAGES = { en: 'English', ru: 'Русский' };
const PLACES = { en: 'en-GB', ru: 'ru-RU' };

let language = localStorage.getItem('language');
if (!(language in LANGUAGES)) language = navigator.language?.toLowerCase().startsWith('ru') ? 'ru' : 'en';
let formats = {};
speak(language);

export function currentLanguage() {
  return language;
}

export function speak(wanted) {
  language = wanted;
  document.documentElement.lang = wanted;
  const place = PLACES[wanted];
  const date = (options) => new Intl.DateTimeFormat(place, options);
  formats = {
    time: date({ hour: '2-digit', minute: '2-digit' }),
    clock: date({ hour: '2-digit', minute: '2-digit', second: '2-digit' }),
    weekday: date({ weekday: 'short' }),
    day: date({ day: 'numeric', month: 'long' }),
    short: date({ day: '2-digit', month: '2-digit', year: '2-digit' }),
    year: date({ day: 'numeric', month: 'long', year: 'numeric' }),
    full: date({ dateStyle: 'long', timeStyle: 'medium' }),
    number: new Intl.NumberFormat(place),
    compact: new Intl.NumberFormat(place, { notation: 'compact', maximumFractionDigits: 1 }),
    size: new Intl.NumberFormat(place, { maximumFractionDigits: 1 }),
    plural: new Intl.PluralRules(place),
  };
}

/** @param {string} key @param {Record<string, string|number>} [values] */
export function t(key, values) {
  return woven(STRINGS[language][key] ?? key, values);
}

/** The form of `key` that goes with `count`, which is written for `{count}`. */
export function n(key, count) {
  const forms = STRINGS[language][key];
  return woven(forms[formats.plural.select(count)] ?? forms.other, { count: formats.number.format(count) });
}

function woven(text, values = {}) {
  return text.replace(/\{(\w+)\}/g, (whole, name) => values[name] ?? whole);
}

export const number = (value) => formats.number.format(value);
export const compact = (value) => (value < 1000 ? String(value) : formats.compact.format(value));
export const time = (at) => formats.time.format(at * 1000);
export const clockTime = (at) => formats.clock.format(at * 1000);
export const fullTime = (at) => formats.full.format(at * 1000);

const dayOf = (at) => new Date(at * 1000).setHours(0, 0, 0, 0);
export const sameDay = (one, other) => dayOf(one) === dayOf(other);
const daysAgo = (at, now) => Math.round((dayOf(now) - dayOf(at)) / 86_400_000);

/** As a list of chats dates things: the time today, the weekday this week, the date before. */
export function shortDate(at, now) {
  const days = daysAgo(at, now);
  if (days === 0) return time(at);
  return days > 0 && days < 7 ? formats.weekday.format(at * 1000) : formats.short.format(at * 1000);
}

export function dayTitle(at, now) {
  const days = daysAgo(at, now);
  if (days === 0) return t('today');
  if (days === 1) return t('yesterday');
  const sameYear = new Date(at * 1000).getFullYear() === new Date(now * 1000).getFullYear();
  return (sameYear ? formats.day : formats.year).format(at * 1000);
}

export function size(bytes) {
  const steps = ['bytes', 'kilobytes', 'megabytes', 'gigabytes'];
  let step = 0;
  for (; bytes >= 1000 && step < 3; step += 1) bytes /= 1000;
  return t(steps[step], { count: formats.size.format(bytes) });
}

export function duration(seconds) {
  const whole = Math.max(0, Math.round(seconds));
  const parts = [Math.floor(whole / 60) % 60, whole % 60];
  if (whole >= 3600) parts.unshift(Math.floor(whole / 3600));
  return parts.map((value, index) => (index ? String(value).padStart(2, '0') : value)).join(':');
}
