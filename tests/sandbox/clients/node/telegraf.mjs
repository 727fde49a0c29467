// telegraf's normal flows, run by test_telegraf.py.
import { createServer } from 'node:http';
import { Input, Markup, Telegraf, TelegramError } from 'telegraf';
import { message } from 'telegraf/filters';
import { given, refused, run, say, until_told } from './stage.mjs';

const { url, token, news, deals, anna } = given;
const bot = new Telegraf(token, { telegram: { apiRoot: url } });
const api = bot.telegram;
const yes_no = Markup.inlineKeyboard([
  Markup.button.callback('Да', 'yes'),
  Markup.button.url('Сайт', 'https://example.com/'),
]);
const no = Markup.inlineKeyboard([Markup.button.callback('Нет', 'no')]);
const blue = () => Input.fromBuffer(Buffer.from(given.blue, 'hex'), 'blue.png');
const download = async (file_id) => Buffer.from(await (await fetch(await api.getFileLink(file_id))).arrayBuffer());

await run({
  async identity() {
    const me = await api.getMe();
    const chat = await api.getChat(news);
    const member = await api.getChatMember(news, me.id);
    const people = await api.getChatMembersCount(news);
    await api.setMyCommands([{ command: 'start', description: 'Начать' }], { language_code: 'ru' });
    const commands = await api.getMyCommands({ language_code: 'ru' });
    say('known', {
      me: me.username,
      chat: [chat.id, chat.title, chat.type],
      member: [member.status, member.user.id === me.id],
      people,
      commands: commands.map(({ command, description }) => [command, description]),
      elsewhere: await api.getMyCommands(),
    });
  },

  async texts() {
    const first = await api.sendMessage(news, given.html, { parse_mode: 'HTML', ...yes_no });
    await api.sendMessage(anna, given.markdown, {
      parse_mode: 'MarkdownV2',
      ...Markup.keyboard([['Да', 'Нет']]).resize(),
    });
    const reply = await api.sendMessage(news, given.reply, { reply_parameters: { message_id: first.message_id } });
    const [[yes, site]] = first.reply_markup.inline_keyboard;
    say('sent', {
      buttons: yes.callback_data === 'yes' && site.url === 'https://example.com/',
      reply_to: reply.reply_to_message.message_id === first.message_id,
    });
  },

  async media() {
    const photo = await api.sendPhoto(news, blue(), { caption: '<i>Синее</i>', parse_mode: 'HTML' });
    await api.sendPhoto(news, Input.fromLocalFile(given.picture_file), { has_spoiler: true });
    await api.sendPhoto(news, Input.fromURL(given.picture_url), { caption: 'По адресу' });
    const notes = await api.sendDocument(news, Input.fromLocalFile(given.notes_file), { caption: 'Заметки' });
    const again = await api.sendDocument(news, notes.document.file_id);
    const largest = photo.photo.at(-1);
    say('sent', {
      size: [largest.width, largest.height],
      document: [notes.document.file_name, notes.document.file_size],
      same: again.document.file_unique_id === notes.document.file_unique_id,
      downloaded: (await download(notes.document.file_id)).toString('hex'),
      shown: (await download(largest.file_id)).length > 0,
    });
  },

  async album() {
    const sent = await api.sendMediaGroup(news, [
      { type: 'photo', media: blue(), caption: '*Альбом*', parse_mode: 'MarkdownV2' },
      { type: 'photo', media: Input.fromLocalFile(given.picture_file) },
      { type: 'photo', media: given.picture_url },
    ]);
    say('sent', { albums: sent.map((each) => each.media_group_id ?? null) });
  },

  async edits() {
    const text = await api.sendMessage(news, 'Черновик', yes_no);
    await api.editMessageText(news, text.message_id, undefined, '<b>Готово</b>', { parse_mode: 'HTML', ...yes_no });
    await api.editMessageReplyMarkup(news, text.message_id, undefined, no.reply_markup);
    const photo = await api.sendPhoto(news, blue(), { caption: 'Картинка' });
    await api.editMessageCaption(news, photo.message_id, undefined, '<i>Подпись</i>', { parse_mode: 'HTML' });
    const other = {
      type: 'photo',
      media: Input.fromLocalFile(given.picture_file),
      caption: '<b>Другая</b> картинка',
      parse_mode: 'HTML',
    };
    const edited = await api.editMessageMedia(news, photo.message_id, undefined, other, no);
    say('edited', {
      deleted: await api.deleteMessage(news, text.message_id),
      dated: edited.edit_date > 0,
      other: edited.photo.at(-1).file_unique_id !== photo.photo.at(-1).file_unique_id,
    });
  },

  async moves() {
    const post = await api.sendMessage(news, 'Новость');
    const forwarded = await api.forwardMessage(deals, news, post.message_id);
    const copied = await api.copyMessage(deals, news, post.message_id);
    say('moved', {
      origin: forwarded.forward_origin.type,
      next: copied.message_id - forwarded.message_id,
      pinned: await api.pinChatMessage(news, post.message_id, { disable_notification: true }),
      busy: await api.sendChatAction(deals, 'typing'),
    });
  },

  async refusals() {
    const too_many = await refused(TelegramError, api.sendMessage(news, 'x'));
    const post = await api.sendMessage(news, 'x');
    const unchanged = await refused(TelegramError, api.editMessageText(news, post.message_id, undefined, 'x'));
    const nowhere = await refused(TelegramError, api.sendMessage(-1009999999999, 'x'));
    const blocked = await refused(TelegramError, api.sendMessage(anna, 'x'));
    say('refused', {
      retry_after: too_many.code === 429 && too_many.parameters.retry_after,
      unchanged: unchanged.description,
      nowhere: nowhere.description,
      blocked: blocked.code === 403 && blocked.description,
    });
  },

  async polling() {
    add_handlers();
    const polling = bot.launch(() => say('listening'));
    await until_told();
    bot.stop();
    await polling;
  },

  async webhook() {
    add_handlers();
    bot.botInfo = await api.getMe();
    const server = createServer(bot.webhookCallback('/webhook', { secretToken: given.secret }));
    await new Promise((listening) => server.listen(0, '127.0.0.1', listening));
    const webhook = `http://127.0.0.1:${server.address().port}/webhook`;
    await api.setWebhook(webhook, { secret_token: given.secret });
    say('listening', { url: webhook });
    await until_told();
    const info = await api.getWebhookInfo();
    await api.deleteWebhook();
    say('left', {
      url: info.url,
      pending: info.pending_update_count,
      error: info.last_error_message ?? null,
      gone: (await api.getWebhookInfo()).url,
    });
    server.close();
    server.closeAllConnections();
  },
});

function add_handlers() {
  bot.start((context) => context.reply(`Привет, ${context.from.first_name}!`, yes_no));
  bot.on('callback_query', async (context) => {
    const answered = await context.answerCbQuery('Принято');
    await context.editMessageText(`Выбрано: ${context.callbackQuery.data}`);
    say('answered', { answered });
  });
  bot.on(message('text'), async (context) => {
    await context.reply(`Вы сказали: ${context.message.text}`);
    await context.deleteMessage();
  });
}
