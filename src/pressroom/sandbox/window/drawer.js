/** The sandbox behind the chats: its clock, the faults that are planned, and what the world has seen. */

import * as api from './api.js';
import { fill, h, iconButton } from './dom.js';
import { live } from './live.js';
import { toast, trying } from './overlay.js';
import { store } from './store.js';
import { clockTime, dayTitle, n, number, t, time } from './words.js';

const SENDING = { telegram: 'send*', max: 'POST /messages' }; // so that a bot's polling goes on
const FAULTS = {
  limit: { kind: 'fail', code: 429, retry_after: 5 },
  broken: { kind: 'fail', code: 500 },
  drop: { kind: 'drop', before_effect: true },
  dropAfter: { kind: 'drop', before_effect: false },
  slow: { kind: 'slow', seconds: 5 },
};
const STEPS = { plusMinute: 60, plusHour: 3600, plusDay: 86_400 };

/** @param {{openChat: () => any, onClose: Function, signal: AbortSignal}} given */
export function drawer({ openChat, onClose, signal }) {
  const clock = h('section.drawer-part');
  const faults = h('section.drawer-part');
  const effects = h('section.drawer-part');
  const element = h(
    'aside.drawer',
    { hidden: true, 'aria-label': t('sandbox') },
    h('header.drawer-head', null, h('h2', null, t('sandbox')), iconButton('close', t('close'), onClose)),
    h('div.drawer-scroll', null, clock, faults, effects),
  );
  const isOpen = () => !element.hidden;

  // -- clock

  const face = h('output.clock-face');
  const day = h('span.clock-day');
  const freeze = h('button.pill', { type: 'button', onclick: () => move({ freeze: store.frozenAt === null }) });
  const move = (wish) => trying(async () => store.keepTime(await api.moveClock(wish)));
  fill(
    clock,
    h('h3', null, t('clock')),
    h('div.clock-line', null, face, day),
    h('div.pills', null, Object.entries(STEPS).map(([name, seconds]) => h('button.pill', { type: 'button', onclick: () => move({ advance: seconds }) }, t(name))), freeze),
  );

  function showClock() {
    const now = store.now();
    const frozen = store.frozenAt !== null;
    face.textContent = clockTime(now);
    day.textContent = frozen ? t('frozen') : dayTitle(now, Date.now() / 1000);
    freeze.textContent = t(frozen ? 'thaw' : 'freeze');
    freeze.setAttribute('aria-pressed', String(frozen));
  }

  // -- faults

  const planned = h('div.fault-list');
  const where = h('select.field', { 'aria-label': t('where') });
  const times = h('select.field', { 'aria-label': t('howOften') }, h('option', { value: '1' }, t('once')), h('option', { value: '3' }, t('threeTimes')), h('option', { value: '' }, t('always')));
  fill(
    faults,
    h('h3', null, t('faults')),
    h('p.hint', null, t('faultsHint')),
    h('div.field-row', null, where, times),
    h('div.pills', null, Object.keys(FAULTS).map((name) => h('button.pill', { type: 'button', onclick: () => plan(name) }, t(`fault_${name}`)))),
    planned,
  );

  function showWhere() {
    const chat = openChat();
    const choices = [...(chat ? [['chat', t('inThisChat', { title: chat.title })]] : []), ...store.providers.map((provider) => [provider, t('everywhereIn', { provider: provider === 'max' ? 'MAX' : 'Telegram' })])];
    const signature = JSON.stringify(choices);
    if (where.dataset.signature === signature) return;
    where.dataset.signature = signature;
    fill(where, choices.map(([value, label]) => h('option', { value }, label)));
  }

  async function plan(name) {
    const chat = where.value === 'chat' ? openChat() : null;
    const provider = chat?.provider ?? where.value;
    const wish = { ...FAULTS[name], provider, times: times.value ? Number(times.value) : null };
    if (chat) wish.chat = chat.id;
    else if (SENDING[provider]) wish.method = SENDING[provider];
    if (await trying(() => api.plan(wish))) {
      toast(t('faultPlanned'));
      readFaults();
    }
  }

  async function readFaults() {
    const all = await api.faults().catch(() => null);
    if (!all || !isOpen()) return;
    const rows = all.map((fault) => h('div.fault', null, h('span', null, h('b', null, faultTitle(fault)), h('small', null, faultScope(fault))), h('button.pill', { type: 'button', onclick: () => heal(fault.id) }, t('heal'))));
    fill(planned, rows.length ? [rows, rows.length > 1 ? h('button.pill', { type: 'button', onclick: () => heal() }, t('healAll')) : null] : h('p.hint', null, t('noFaults')));
  }

  async function heal(id) {
    await trying(() => api.heal(id));
    readFaults();
  }

  // -- effects

  function showEffects() {
    if (!isOpen()) return;
    const counts = [...live.counts].sort((a, b) => b[1] - a[1]).slice(0, 12);
    fill(
      effects,
      h('h3', null, t('effects'), h('small', null, n('effectCount', store.effects))),
      counts.length ? h('ul.counts', null, counts.map(([method, count]) => h('li', null, h('code', null, method), h('b', null, number(count))))) : h('p.hint', null, t('noEffects')),
      h('ol.tail', null, live.newest.slice(-15).reverse().map(effectLine)),
    );
  }

  const beat = setInterval(() => isOpen() && showClock(), 500);
  const look = setInterval(() => isOpen() && readFaults(), 3000);
  signal.addEventListener('abort', () => [beat, look].forEach(clearInterval));
  live.addEventListener('burst', showEffects, { signal });
  store.addEventListener('clock', showClock, { signal });

  return {
    element,
    showWhere,
    toggle(open = element.hidden) {
      element.hidden = !open;
      if (!open) return;
      showClock();
      showWhere();
      readFaults();
      showEffects();
      trying(async () => store.keepTime(await api.clock()));
      element.querySelector('button').focus();
    },
  };
}

function faultTitle(fault) {
  const what = { fail: fault.code ?? fault.name, drop: t(fault.before_effect ? 'fault_drop' : 'fault_dropAfter'), slow: `${t('slow')} ${fault.seconds} ${t('secondsShort')}` }[fault.kind];
  return String(what ?? fault.kind) + (fault.retry_after ? ` · retry_after ${fault.retry_after}` : '');
}

function faultScope(fault) {
  const chat = fault.chat !== undefined ? [...store.chats.values()].find((each) => each.id === fault.chat)?.title ?? fault.chat : null;
  const often = fault.times === undefined ? t('always') : `× ${fault.times}`;
  return [fault.provider, fault.bot && `@${fault.bot}`, chat, fault.method, often].filter(Boolean).join(' · ');
}

function effectLine(effect) {
  const chat = store.chats.get(`${effect.provider}/${effect.chat}`);
  return h('li', null, h('time', null, time(effect.at)), h('span', null, h('code', null, effect.method), ' ', h('span', null, chat?.title ?? String(effect.chat)), effect.text ? h('small', null, effect.text.slice(0, 80)) : null));
}
