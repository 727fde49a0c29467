// The official client of MAX in its normal flows, run by test_max_bot_api.py.
import { createServer } from 'node:http';
import { Bot, FileAttachment, ImageAttachment, Keyboard, MaxError } from '@maxhub/max-bot-api';
import { given, refused, run, say, until_told } from './stage.mjs';

const { url, token, news, anna } = given;
const bot = new Bot(token, { clientOptions: { baseUrl: `${url}/` } });
const api = bot.api;
const { button, inlineKeyboard } = Keyboard;
const yes_no = inlineKeyboard([[button.callback('Да', 'yes'), button.link('Сайт', 'https://example.com/')]]);
const no = inlineKeyboard([[button.callback('Нет', 'no')]]);
const blue = () => Buffer.from(given.blue, 'hex');

await run({
  async identity() {
    const me = await api.getMyInfo();
    const chat = await api.getChat(news);
    const { commands } = await api.setMyCommands([{ name: 'start', description: 'Начать' }]);
    const member = await api.getChatMembership(news);
    const busy = await api.sendAction(news, 'typing_on');
    say('known', {
      me: me.username,
      bot: me.is_bot,
      chat: [chat.chat_id, chat.type, chat.title],
      commands: commands.map(({ name, description }) => [name, description]),
      admin: member.is_admin,
      busy: busy.success,
    });
  },

  async texts() {
    const first = await api.sendMessageToChat(news, given.html, { format: 'html', attachments: [yes_no] });
    const told = await api.sendMessageToUser(anna, given.markdown, { format: 'markdown' });
    const reply = await api.sendMessageToChat(news, given.reply, { link: { type: 'reply', mid: first.body.mid } });
    const read = await api.getMessage(first.body.mid);
    const keyboard = read.body.attachments.find(({ type }) => type === 'inline_keyboard');
    const { messages } = await api.getMessages(news);
    say('sent', {
      text: first.body.text,
      read: read.body.text,
      buttons: keyboard.payload.buttons[0].map(({ type }) => type),
      told: told.body.text,
      dialog: told.recipient.chat_type,
      reply_to: reply.link.message.mid === first.body.mid,
      newest_first: messages.map(({ body }) => body.mid).join() === [reply.body.mid, first.body.mid].join(),
    });
  },

  async media() {
    const image = await api.uploadImage({ source: blue() });
    const linked = new ImageAttachment({ url: given.picture_url });
    const file = await api.uploadFile({ source: given.notes_file });
    const video = await api.uploadVideo({ source: given.video_file });
    say('uploaded');
    await until_told(); // while the sandbox's clock moves, and the files are processed
    const album = await api.sendMessageToChat(news, 'Альбом', {
      attachments: [image.toJson(), linked.toJson(), video.toJson()],
    });
    const document = await api.sendMessageToChat(news, 'Заметки', { attachments: [file.toJson()] });
    const [{ payload, filename, size }] = document.body.attachments;
    const again = await api.sendMessageToChat(news, '', {
      attachments: [new FileAttachment({ token: payload.token }).toJson()],
    });
    const downloaded = Buffer.from(await (await fetch(payload.url)).arrayBuffer());
    say('sent', {
      album: album.body.attachments.map(({ type }) => type),
      document: [filename, size],
      again: again.body.attachments[0].filename,
      downloaded: downloaded.toString('hex'),
    });
  },

  async impatience() {
    const file = await api.uploadFile({ source: given.notes_file });
    const sent = await api.sendMessageToChat(news, 'Заметки', { attachments: [file.toJson()] });
    say('sent', { document: sent.body.attachments[0].filename });
  },

  async edits() {
    const { body } = await api.sendMessageToChat(news, 'Черновик', { attachments: [yes_no] });
    const text = await api.editMessage(body.mid, { text: '<b>Готово</b>', format: 'html' });
    const buttons = await api.editMessage(body.mid, { attachments: [no] });
    const pinned = await api.pinMessage(news, body.mid, { notify: false });
    const { message } = await api.getPinnedMessage(news);
    const unpinned = await api.unpinMessage(news);
    const other = await api.sendMessageToChat(news, 'Лишнее');
    const deleted = await api.deleteMessage(other.body.mid);
    say('edited', {
      done: [text, buttons, pinned, unpinned, deleted].map(({ success }) => success),
      pinned: message.body.mid === body.mid,
      text: message.body.text,
    });
  },

  async refusals() {
    const too_many = await refused(MaxError, api.sendMessageToChat(news, 'x'));
    const too_long = await refused(MaxError, api.sendMessageToChat(news, 'x'.repeat(4001)));
    const nowhere = await refused(MaxError, api.sendMessageToChat(-1, 'x'));
    const stopped = await refused(MaxError, api.sendMessageToUser(anna, 'x'));
    const said = ({ status, code, description }) => [status, code, description];
    say('refused', {
      too_many: said(too_many).slice(0, 2),
      too_long: said(too_long),
      nowhere: said(nowhere).slice(0, 1),
      stopped: said(stopped),
    });
  },

  async members() {
    const { members: admins } = await api.getChatAdmins(news);
    const { members } = await api.getChatMembers(news);
    const renamed = await api.editChatInfo(news, { title: 'Новое имя' });
    const me = await api.getMyInfo();
    say('met', {
      admins: admins.some(({ user_id }) => user_id === me.user_id),
      members: members.some(({ user_id }) => user_id === me.user_id),
      title: renamed.title,
    });
  },

  async polling() {
    add_handlers();
    const polling = bot.start();
    say('listening');
    await until_told();
    bot.stopPolling();
    await polling;
  },

  async webhook() {
    add_handlers();
    bot.botInfo = await api.getMyInfo();
    const handler = bot.webhookCallback({ domain: 'bot.example', path: '/webhook', secret: given.secret });
    const server = createServer(handler);
    await new Promise((listening) => server.listen(0, '127.0.0.1', listening));
    const webhook = `http://127.0.0.1:${server.address().port}/webhook`;
    await api.subscribe(webhook, given.secret, ['message_created']);
    say('listening', { url: webhook });
    await until_told();
    const subscriptions = await api.getSubscriptions();
    await api.unsubscribe(webhook);
    say('left', {
      subscriptions: subscriptions.map(({ url, updateTypes }) => [url, updateTypes]),
      gone: await api.getSubscriptions(),
    });
    server.close();
    server.closeAllConnections();
  },
});

function add_handlers() {
  bot.on('bot_started', (context) =>
    context.reply(`Привет, ${context.user.first_name}!`, { attachments: [yes_no] }),
  );
  bot.action(/.*/, async (context) => {
    const { success } = await context.answerOnCallback({
      message: { text: `Выбрано: ${context.callback.payload}`, attachments: [] },
    });
    say('answered', { answered: success });
  });
  bot.on('message_created', (context) => context.reply(`Вы сказали: ${context.message.body.text}`));
}
