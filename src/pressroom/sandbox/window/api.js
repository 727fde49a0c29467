/** The control API as functions. A refusal is an error whose message is the API's own sentence. */

export class Refused extends Error {
  constructor(message, status) {
    super(message);
    this.status = status;
  }
}

async function ask(method, path, body) {
  const options = { method, headers: { Accept: 'application/json' } };
  if (body !== undefined) {
    options.headers['Content-Type'] = 'application/json';
    options.body = JSON.stringify(body);
  }
  const response = await fetch(`/sandbox${path}`, options);
  const answer = await response.json().catch(() => ({}));
  if (!response.ok) throw new Refused(answer.error ?? `${response.status} ${response.statusText}`, response.status);
  return answer;
}

const part = encodeURIComponent;

export const overview = () => ask('GET', '');
export const chatsOf = (provider, offset, limit) =>
  ask('GET', `/${part(provider)}/chats?offset=${offset}&limit=${limit}`);
export const chatOf = (provider, chat) => ask('GET', `/${part(provider)}/chats/${part(chat)}`);
export const messagesOf = (provider, chat, limit, before) =>
  ask(
    'GET',
    `/${part(provider)}/chats/${part(chat)}/messages?limit=${limit}` + (before === undefined ? '' : `&before=${part(before)}`),
  ).then((answer) => answer.messages);
export const messageOf = (provider, chat, message) =>
  ask('GET', `/${part(provider)}/chats/${part(chat)}/messages/${part(message)}`);
export const botsOf = (provider) => ask('GET', `/${part(provider)}/bots`).then((answer) => answer.bots);
export const peopleOf = (provider) => ask('GET', `/${part(provider)}/people`).then((answer) => answer.people);
export const add = (provider, what, wish) => ask('POST', `/${part(provider)}/${what}`, wish);
export const act = (provider, verb, wish) => ask('POST', `/${part(provider)}/act/${verb}`, wish);
export const faults = () => ask('GET', '/faults').then((answer) => answer.faults);
export const plan = (fault) => ask('POST', '/faults', fault);
export const heal = (number) => ask('DELETE', number === undefined ? '/faults' : `/faults/${number}`);
export const clock = () => ask('GET', '/clock');
export const moveClock = (wish) => ask('POST', '/clock', wish);
export const fileAddress = (provider, file) => `/sandbox/${part(provider)}/files/${file.split('/').map(part).join('/')}`;
