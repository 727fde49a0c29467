/** As whom the person at the window acts: one name, who is the same in every messenger. Kept by the browser. */

import * as api from './api.js';
import { avatar } from './avatar.js';
import { fill, h, icon } from './dom.js';
import { dialog, trying } from './overlay.js';
import { store } from './store.js';
import { t } from './words.js';

let chosen = localStorage.getItem('person');

export const chosenName = () => chosen;

export function choose(name) {
  chosen = name;
  localStorage.setItem('person', name);
  store.dispatchEvent(new CustomEvent('actors'));
}

const withName = (provider, name) => (store.people[provider] ?? []).find((person) => person.name === name);

/** The chosen person in that messenger if they exist there. */
export const personIn = (provider) => (chosen ? withName(provider, chosen) : undefined);

/** The chosen person, made in that messenger when they are new there; asks for a name when nobody is chosen. */
export async function actingIn(provider) {
  const name = chosen ?? (await choosePerson());
  if (!name) return null;
  const known = withName(provider, name);
  if (known) return known;
  await api.add(provider, 'people', { name });
  await store.loadActors(provider);
  return withName(provider, name);
}

function names() {
  const found = new Map();
  for (const provider of store.providers)
    for (const person of store.people[provider] ?? []) {
      const at = found.get(person.name) ?? found.set(person.name, { id: person.id, providers: [] }).get(person.name);
      at.providers.push(provider);
    }
  return [...found].slice(0, 200);
}

/** @returns {Promise<string|null>} */
export function choosePerson() {
  return new Promise((resolve) => {
    let answer = null;
    const box = dialog(t('whoAreYou'), (close) => {
      const take = (name) => {
        answer = name;
        choose(name);
        close();
      };
      const field = h('input.field', { type: 'text', autofocus: true, placeholder: t('newPerson'), 'aria-label': t('newPerson'), maxLength: 64, autocomplete: 'off' });
      const make = async (event) => {
        event.preventDefault();
        const name = field.value.trim();
        if (name && (await trying(() => makeEverywhere(name)))) take(name);
      };
      return [
        h('p.hint', null, t('personHint')),
        h('form.field-row', { onsubmit: make }, field, h('button.loud', { type: 'submit' }, t('make'))),
        h('div.choices', null, names().map(([name, { id }]) => personChoice(name, id, take))),
      ];
    });
    box.addEventListener('close', () => resolve(answer));
  });
}

async function makeEverywhere(name) {
  for (const provider of store.providers) {
    if (!withName(provider, name)) await api.add(provider, 'people', { name });
    await store.loadActors(provider);
  }
  return true;
}

function personChoice(name, id, take) {
  const current = name === chosen;
  return h('button.choice', { type: 'button', 'aria-pressed': String(current), onclick: () => take(name) }, avatar('telegram', id, name), h('span.choice-name', null, name), current ? icon('check', 'check') : null);
}

/** Lets choose a bot to talk to. @param {(provider: string, bot: any) => void} open */
export function chooseBot(open) {
  dialog(t('newDialog'), (close) => {
    const list = h('div.choices');
    const field = h('input.field', { type: 'search', autofocus: true, placeholder: t('searchBots'), 'aria-label': t('searchBots'), oninput: () => show() });
    let first = null;
    const show = () => {
      const wanted = field.value.trim().toLowerCase();
      const found = store.providers.flatMap((provider) => (store.bots[provider] ?? []).map((bot) => ({ provider, bot })));
      const fitting = found.filter(({ bot }) => `${bot.name} @${bot.username ?? ''}`.toLowerCase().includes(wanted)).slice(0, 100);
      first = fitting[0];
      fill(list, fitting.length ? fitting.map(({ provider, bot }) => botChoice(provider, bot, pick)) : h('p.hint', null, t(found.length ? 'nothingFound' : 'noBots')));
    };
    const pick = (provider, bot) => {
      close();
      open(provider, bot);
    };
    field.addEventListener('keydown', (event) => {
      if (event.key === 'Enter' && first) pick(first.provider, first.bot);
    });
    show();
    return [field, list];
  });
}

function botChoice(provider, bot, pick) {
  return h(
    'button.choice',
    { type: 'button', onclick: () => pick(provider, bot) },
    avatar(provider, bot.id, bot.name, { mark: true }),
    h('span.choice-name', null, bot.name, h('small', null, bot.username ? `@${bot.username}` : '')),
  );
}
