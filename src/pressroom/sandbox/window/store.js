/**
 * What the page knows of the chats, the bots and the people, kept fresh from the control API.
 *
 * @typedef {{key: string, provider: string, id: number, kind: string, title: string, username?: string, bots: any[],
 *   people: any[], messages: number, last?: any, state?: string, unread: number}} Chat
 */

import * as api from './api.js';

const FIRST = 100; // quick enough to paint before everything is there
const PAGE = 1000;
const MOST = 20_000;
const ONE_BY_ONE = 24; // more touched chats than these are read as a page of the newest

export const DIALOGS = new Set(['private', 'dialog']);
export const keyOf = (provider, chat) => `${provider}/${chat}`;

class Store extends EventTarget {
  /** @type {Map<string, Chat>} */
  chats = new Map();
  bots = {};
  people = {};
  providers = [];
  loaded = false;
  offset = 0; // seconds that the sandbox's clock is ahead of this machine's
  frozenAt = null;
  example = ''; // a command that sends a first message
  effects = 0;
  #seen = remembered();
  #open = null;

  now() {
    return this.frozenAt ?? Date.now() / 1000 + this.offset;
  }

  keepTime({ now, frozen }) {
    this.offset = now - Date.now() / 1000;
    this.frozenAt = frozen ? now : null;
    this.#tell('clock');
  }

  /** Everything anew, the first page of each provider before the rest. */
  async load() {
    const world = await api.overview();
    this.example = world.example ?? '';
    this.providers = Object.keys(world.providers).sort().reverse();
    this.effects = world.effects;
    this.keepTime(world);
    if (this.loaded) this.chats.clear();
    await Promise.all([
      ...this.providers.map((provider) => this.#page(provider, 0, FIRST)),
      ...this.providers.map((provider) => this.loadActors(provider)),
    ]);
    this.loaded = true;
    this.#tell('loaded');
    this.#tell('chats');
    await this.#loadRest(world.providers);
  }

  async #loadRest(providers) {
    for (const provider of this.providers) {
      const count = Math.min(providers[provider].chats, MOST);
      for (let offset = FIRST; offset < count; offset += PAGE) {
        await this.#page(provider, offset, PAGE);
        this.#tell('chats');
      }
    }
  }

  async loadActors(provider) {
    [this.bots[provider], this.people[provider]] = await Promise.all([api.botsOf(provider), api.peopleOf(provider)]);
    this.#tell('actors');
  }

  async #page(provider, offset, limit) {
    const page = await api.chatsOf(provider, offset, limit);
    return page.chats.map((view) => this.#take(provider, view));
  }

  /** @returns {string} the chat's key */
  #take(provider, view) {
    const key = keyOf(provider, view.id);
    const known = this.chats.get(key);
    const seen = this.#seen.get(key) ?? (this.loaded ? 0 : view.messages);
    const unread = known
      ? known.unread + Math.max(0, view.messages - known.messages)
      : Math.max(0, view.messages - seen);
    this.chats.set(key, { ...view, provider, key, unread: this.#isWatched(key) ? 0 : unread });
    this.#remember(key);
    return key;
  }

  /** Read anew what effects have touched: one by one when few, else the newest of each provider. */
  async refresh(keys) {
    const touched = new Set(keys);
    for (const provider of this.providers) {
      const mine = [...touched].filter((key) => key.startsWith(`${provider}/`));
      if (mine.length <= ONE_BY_ONE) continue;
      const read = await this.#page(provider, 0, Math.min(PAGE, mine.length * 2));
      for (const key of read) touched.delete(key);
    }
    await Promise.all([...touched].slice(0, ONE_BY_ONE * 2).map((key) => this.#refreshOne(key)));
    this.#tell('chats', keys);
  }

  async #refreshOne(key) {
    const [provider, id] = key.split('/');
    try {
      this.#take(provider, await api.chatOf(provider, id));
    } catch (error) {
      if (error.status !== 404) throw error;
      this.chats.delete(key);
    }
  }

  async read(key) {
    await this.#refreshOne(key);
    this.#tell('chats', [key]);
    return this.chats.get(key);
  }

  #isWatched(key) {
    return key === this.#open && document.visibilityState === 'visible';
  }

  /** The chat that somebody looks at: it has nothing new. */
  look(key) {
    this.#open = key;
    const chat = this.chats.get(key);
    if (!chat || !chat.unread || !this.#isWatched(key)) return;
    chat.unread = 0;
    this.#remember(key);
    this.#tell('chats', [key]);
  }

  #remember(key) {
    const { messages, unread } = this.chats.get(key);
    this.#seen.set(key, messages - unread);
    this.#rememberSoon();
  }

  #saving = false;
  #rememberSoon() {
    if (this.#saving) return;
    this.#saving = true;
    setTimeout(() => {
      this.#saving = false;
      try {
        sessionStorage.setItem('seen', JSON.stringify([...this.#seen]));
      } catch {
        // A full storage only costs the counts of what is new.
      }
    }, 1000);
  }

  /** Those that `fits` says, the newest first. */
  sorted(fits) {
    const found = [];
    for (const chat of this.chats.values()) if (fits(chat)) found.push(chat);
    return found.sort((a, b) => (b.last?.at ?? 0) - (a.last?.at ?? 0) || (a.key < b.key ? -1 : 1));
  }

  byUsername(provider, username) {
    const wanted = username.toLowerCase();
    for (const chat of this.chats.values())
      if (chat.provider === provider && chat.username?.toLowerCase() === wanted) return chat;
    return null;
  }

  #tell(what, detail) {
    this.dispatchEvent(new CustomEvent(what, { detail }));
  }
}

function remembered() {
  try {
    return new Map(JSON.parse(sessionStorage.getItem('seen') ?? '[]'));
  } catch {
    return new Map();
  }
}

export const store = new Store();
