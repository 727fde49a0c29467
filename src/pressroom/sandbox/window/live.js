/**
 * Effects as they happen, handed on in bursts: the page is told a few times per second, however much happens.
 * A burst is over when everybody who was told has finished, so a slow page gets fewer and larger ones.
 */

import { keyOf, store } from './store.js';

const PAUSE = 250; // ms
const KEPT = 200; // effects of one chat that a burst names; those who need more read the chat

class Live extends EventTarget {
  state = 'connecting';
  newest = [];
  counts = new Map();
  #source = null;
  #told = [];
  #burst = new Map();
  #waiting = false;
  #last = 0;

  constructor() {
    super();
    document.addEventListener('visibilitychange', () => this.#plan());
    // A page that the browser keeps for "back" would keep one of its six connections as well.
    addEventListener('pagehide', () => this.#source?.close());
    addEventListener('pageshow', (event) => event.persisted && this.open());
  }

  /** @param {(burst: Map<string, any[]>) => Promise<void>} listener by the chat's key, its effects */
  onBurst(listener, signal) {
    this.#told.push(listener);
    signal?.addEventListener('abort', () => (this.#told = this.#told.filter((each) => each !== listener)));
  }

  open() {
    this.#source?.close();
    const source = new EventSource(`/sandbox/events?after=${store.effects}`);
    this.#source = source;
    this.#last = store.effects;
    source.addEventListener('open', () => this.#become('live'));
    source.addEventListener('error', () => {
      this.#become('lost');
      // A browser gives up for good when it was answered with an error.
      if (source.readyState === EventSource.CLOSED) setTimeout(() => this.open(), 2000);
    });
    source.addEventListener('hello', (event) => this.#greeted(JSON.parse(event.data)));
    source.addEventListener('effect', (event) => this.#happened(JSON.parse(event.data)));
  }

  /** Numbers that went back mean that the sandbox was started anew. */
  async #greeted({ total }) {
    if (total >= this.#last) return;
    this.#source.close();
    await store.load();
    this.counts.clear();
    this.newest = [];
    this.open();
    this.dispatchEvent(new Event('anew'));
  }

  #happened(effect) {
    this.#last = effect.seq;
    store.effects = effect.seq;
    this.counts.set(effect.method, (this.counts.get(effect.method) ?? 0) + 1);
    this.newest.push(effect);
    if (this.newest.length > 60) this.newest.splice(0, 30);
    const key = keyOf(effect.provider, effect.chat);
    const list = this.#burst.get(key) ?? [];
    if (list.length < KEPT) list.push(effect);
    this.#burst.set(key, list);
    this.#plan();
  }

  #plan() {
    if (this.#waiting || !this.#burst.size || document.visibilityState === 'hidden') return;
    this.#waiting = true;
    requestAnimationFrame(() => this.#tell());
  }

  async #tell() {
    const burst = this.#burst;
    this.#burst = new Map();
    const began = performance.now();
    await Promise.allSettled(this.#told.map((listener) => listener(burst)));
    this.dispatchEvent(new Event('burst'));
    setTimeout(
      () => {
        this.#waiting = false;
        this.#plan();
      },
      Math.max(PAUSE, 1.5 * (performance.now() - began)),
    );
  }

  #become(state) {
    if (state === this.state) return;
    this.state = state;
    this.dispatchEvent(new Event('state'));
  }
}

export const live = new Live();
