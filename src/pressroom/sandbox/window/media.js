/** What hangs on a message: pictures and clips in a mosaic, everything else as cards. */

import { fileAddress } from './api.js';
import { h, icon } from './dom.js';
import { duration, size, t } from './words.js';

const VISUAL = new Set(['photo', 'video', 'animation']);
const CARD_ICONS = { audio: 'sound', voice: 'voice', location: 'place', contact: 'person', video: 'play', animation: 'play', photo: 'image', sticker: 'image' };

export const isVisual = (media) => VISUAL.has(media.kind);

/** A word for a message without a text, as lists and quotes show it. */
export function mediaWord(media) {
  if (!media?.length) return '';
  const first = media[0];
  if (media.length > 1 && media.every(isVisual)) return t('album');
  return first.kind === 'document' && first.name ? first.name : t(`kind_${first.kind}`);
}

export function mediaPart(provider, media) {
  const visual = media.filter(isVisual);
  const others = media.filter((each) => !isVisual(each));
  return [
    visual.length ? mosaic(provider, visual) : null,
    others.map((each) => (each.kind === 'sticker' ? sticker(provider, each) : card(provider, each))),
  ];
}

// -- mosaic

const aspectOf = (media) => Math.min(Math.max((media.width || 4) / (media.height || 3), 0.6), 2);

/** @returns {number[]} how many stand in each row, so that the whole is near a square and no row is a strip */
export function rowsFor(aspects) {
  let best = { cost: Infinity, rows: [aspects.length] };
  const search = (from, rows, height, cost) => {
    if (from === aspects.length) {
      const total = cost + Math.abs(height - 0.95);
      if (total < best.cost) best = { cost: total, rows };
      return;
    }
    for (let count = 1; count <= Math.min(4, aspects.length - from); count += 1) {
      const row = 1 / aspects.slice(from, from + count).reduce((sum, aspect) => sum + aspect, 0);
      const strip = row < 0.26 ? (0.26 - row) * 4 : 0;
      const tower = row > 0.75 ? (row - 0.75) * 1.5 : 0;
      search(from + count, [...rows, count], height + row, cost + strip + tower);
    }
  };
  search(0, [], 0, 0);
  return best.rows;
}

function mosaic(provider, all) {
  const aspects = all.map(aspectOf);
  let from = 0;
  const rows = rowsFor(aspects).map((count) => {
    const row = all.slice(from, from + count);
    const sum = aspects.slice(from, from + count).reduce((total, aspect) => total + aspect, 0);
    const cells = row.map((each, index) => visual(provider, each, aspects[from + index]));
    from += count;
    return h('div.mosaic-row', { style: { aspectRatio: String(all.length === 1 ? Math.max(sum, 0.8) : sum) } }, cells);
  });
  return h(`div.mosaic${all.length === 1 ? '.single' : ''}`, { style: all.length === 1 ? singleSize(all[0]) : null }, rows);
}

/** Small pictures stay small; wide ones take the bubble's width. */
function singleSize({ width = 400, height = 300 }) {
  const fits = Math.min(1, 420 / width, 440 / height);
  return { width: `${Math.max(Math.round(width * fits), 160)}px` };
}

function visual(provider, media, aspect) {
  const cell = h('div.visual', { style: { flexGrow: String(10 * aspect) } });
  const shown = media.file ? picture(provider, media, cell) : missing(media);
  cell.append(shown);
  if (media.duration) cell.append(h('span.duration', null, duration(media.duration)));
  if (media.kind === 'animation') cell.append(h('span.duration', null, 'GIF'));
  if (media.spoiler) cover(cell);
  return cell;
}

function picture(provider, media, cell) {
  const src = fileAddress(provider, media.file);
  const onerror = (event) => event.currentTarget.replaceWith(missing(media));
  const alt = media.name ?? t(`kind_${media.kind}`);
  if (media.kind === 'photo' || media.type?.startsWith('image/')) {
    const image = h('img', { src, alt, loading: 'lazy', decoding: 'async', draggable: false, onerror });
    const enlarge = () => cell.dispatchEvent(new CustomEvent('enlarge', { bubbles: true, detail: { src, alt } }));
    return h('button.picture', { type: 'button', 'aria-label': t('enlarge', { name: alt }), onclick: enlarge }, image);
  }
  const loops = media.kind === 'animation';
  return h('video', { src, controls: !loops, loop: loops, muted: loops, autoplay: loops && !calm(), playsInline: true, preload: 'metadata', 'aria-label': alt, onerror });
}

const calm = () => matchMedia('(prefers-reduced-motion: reduce)').matches;

function missing(media) {
  return h('div.missing', null, icon(CARD_ICONS[media.kind] ?? 'file'), h('span', null, media.name ?? t(`kind_${media.kind}`)), h('small', null, t('notKept')));
}

function cover(cell) {
  const uncover = () => {
    cell.classList.remove('covered');
    button.remove();
  };
  const button = h('button.uncover', { type: 'button', 'aria-label': t('spoiler'), onclick: uncover }, icon('eye'));
  cell.classList.add('covered');
  cell.append(button);
}

function sticker(provider, media) {
  if (!media.file) return card(provider, media);
  return h('img.sticker', { src: fileAddress(provider, media.file), alt: media.name ?? t('kind_sticker'), onerror: (event) => event.currentTarget.replaceWith(missing(media)) });
}

// -- cards

function card(provider, media) {
  const name = media.title ?? media.name ?? t(`kind_${media.kind}`);
  const facts = [media.duration ? duration(media.duration) : '', media.size !== undefined ? size(media.size) : '', media.type ?? '', media.file || !expectsFile(media) ? '' : t('notKept')];
  const heard = media.file && (media.kind === 'audio' || media.kind === 'voice');
  const src = media.file ? fileAddress(provider, media.file) : '';
  const body = h(
    'span.card-body',
    null,
    h('span.card-name', null, name),
    h('span.card-facts', null, facts.filter(Boolean).join(' · ')),
    heard ? player(src) : null,
  );
  const sign = h(`span.card-sign.${media.kind}`, null, icon(CARD_ICONS[media.kind] ?? 'file'), media.kind === 'document' ? h('small', null, ending(media.name)) : null);
  if (!media.file || heard) return h('div.card', null, sign, body);
  return h('a.card', { href: src, download: media.name ?? '', title: t('download') }, sign, body);
}

function player(src) {
  return h('audio', { src, controls: true, preload: 'none', onerror: (event) => event.currentTarget.remove() });
}

const expectsFile = (media) => !['location', 'contact'].includes(media.kind);
const ending = (name = '') => (name.includes('.') ? name.split('.').pop().slice(0, 4) : '');
