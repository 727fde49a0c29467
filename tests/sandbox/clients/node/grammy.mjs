// grammY's normal flows, run by test_grammy.py.
import { createServer } from 'node:http';
import { readFile } from 'node:fs/promises';
import { Bot, GrammyError, InlineKeyboard, InputFile, InputMediaBuilder, Keyboard, webhookCallback } from 'grammy';
import { given, refused, run, say, until_told } from './stage.mjs';

const { url, token, news, deals, anna } = given;
const bot = new Bot(token, {
  client: { apiRoot: url, canUseWebhookReply: (method) => given.flow === 'webhook' && method === 'sendMessage' },
});
const yes_no = new InlineKeyboard().text('Да', 'yes').url('Сайт', 'https://example.com/');
const no = new InlineKeyboard().text('Нет', 'no');
const blue = () => new InputFile(Buffer.from(given.blue, 'hex'), 'blue.png');
const download = async (file) =>
  Buffer.from(await (await fetch(`${url}/file/bot${token}/${file.file_path}`)).arrayBuffer());

await run({
  async identity() {
    const me = await bot.api.getMe();
    const chat = await bot.api.getChat(news);
    const member = await bot.api.getChatMember(news, me.id);
    const people = await bot.api.getChatMemberCount(news);
    await bot.api.setMyCommands([{ command: 'start', description: 'Начать' }], { language_code: 'ru' });
    const commands = await bot.api.getMyCommands({ language_code: 'ru' });
    say('known', {
      me: me.username,
      chat: [chat.id, chat.title, chat.type],
      member: [member.status, member.user.id === me.id],
      people,
      commands: commands.map(({ command, description }) => [command, description]),
      elsewhere: await bot.api.getMyCommands(),
    });
  },

  async texts() {
    const first = await bot.api.sendMessage(news, given.html, { parse_mode: 'HTML', reply_markup: yes_no });
    await bot.api.sendMessage(anna, given.markdown, {
      parse_mode: 'MarkdownV2',
      reply_markup: new Keyboard().text('Да').text('Нет').resized(),
    });
    const reply = await bot.api.sendMessage(news, given.reply, {
      reply_parameters: { message_id: first.message_id },
    });
    say('sent', {
      buttons: JSON.stringify(first.reply_markup.inline_keyboard) === JSON.stringify(yes_no.inline_keyboard),
      reply_to: reply.reply_to_message.message_id === first.message_id,
    });
  },

  async media() {
    const photo = await bot.api.sendPhoto(news, blue(), { caption: '<i>Синее</i>', parse_mode: 'HTML' });
    await bot.api.sendPhoto(news, new InputFile(given.picture_file), { has_spoiler: true });
    await bot.api.sendPhoto(news, given.picture_url, { caption: 'По адресу' });
    const notes = await bot.api.sendDocument(news, new InputFile(given.notes_file), { caption: 'Заметки' });
    const again = await bot.api.sendDocument(news, notes.document.file_id);
    const downloaded = await download(await bot.api.getFile(notes.document.file_id));
    const largest = photo.photo.at(-1);
    say('sent', {
      size: [largest.width, largest.height],
      document: [notes.document.file_name, notes.document.file_size],
      same: again.document.file_unique_id === notes.document.file_unique_id,
      downloaded: downloaded.toString('hex'),
      shown: (await download(await bot.api.getFile(largest.file_id))).length > 0,
    });
  },

  async album() {
    const sent = await bot.api.sendMediaGroup(news, [
      InputMediaBuilder.photo(blue(), { caption: '*Альбом*', parse_mode: 'MarkdownV2' }),
      InputMediaBuilder.photo(new InputFile(await readFile(given.picture_file), 'green.png')),
      InputMediaBuilder.photo(given.picture_url),
    ]);
    say('sent', { albums: sent.map((message) => message.media_group_id ?? null) });
  },

  async edits() {
    const text = await bot.api.sendMessage(news, 'Черновик', { reply_markup: yes_no });
    await bot.api.editMessageText(news, text.message_id, '<b>Готово</b>', { parse_mode: 'HTML', reply_markup: yes_no });
    await bot.api.editMessageReplyMarkup(news, text.message_id, { reply_markup: no });
    const photo = await bot.api.sendPhoto(news, blue(), { caption: 'Картинка' });
    await bot.api.editMessageCaption(news, photo.message_id, { caption: '<i>Подпись</i>', parse_mode: 'HTML' });
    const other = InputMediaBuilder.photo(new InputFile(given.picture_file), {
      caption: '<b>Другая</b> картинка',
      parse_mode: 'HTML',
    });
    const edited = await bot.api.editMessageMedia(news, photo.message_id, other, { reply_markup: no });
    say('edited', {
      deleted: await bot.api.deleteMessage(news, text.message_id),
      dated: edited.edit_date > 0,
      other: edited.photo.at(-1).file_unique_id !== photo.photo.at(-1).file_unique_id,
    });
  },

  async moves() {
    const post = await bot.api.sendMessage(news, 'Новость');
    const forwarded = await bot.api.forwardMessage(deals, news, post.message_id);
    const copied = await bot.api.copyMessage(deals, news, post.message_id);
    say('moved', {
      origin: forwarded.forward_origin.type,
      next: copied.message_id - forwarded.message_id,
      pinned: await bot.api.pinChatMessage(news, post.message_id, { disable_notification: true }),
      busy: await bot.api.sendChatAction(deals, 'typing'),
    });
  },

  async refusals() {
    const too_many = await refused(GrammyError, bot.api.sendMessage(news, 'x'));
    const post = await bot.api.sendMessage(news, 'x');
    const unchanged = await refused(GrammyError, bot.api.editMessageText(news, post.message_id, 'x'));
    const nowhere = await refused(GrammyError, bot.api.sendMessage(-1009999999999, 'x'));
    const blocked = await refused(GrammyError, bot.api.sendMessage(anna, 'x'));
    say('refused', {
      retry_after: too_many.error_code === 429 && too_many.parameters.retry_after,
      unchanged: unchanged.description,
      nowhere: nowhere.description,
      blocked: blocked.error_code === 403 && blocked.description,
    });
  },

  async polling() {
    add_handlers();
    const polling = bot.start({ onStart: () => say('listening') });
    await until_told();
    await bot.stop();
    await polling;
  },

  async webhook() {
    add_handlers();
    const server = createServer(webhookCallback(bot, 'http', { secretToken: given.secret }));
    await new Promise((listening) => server.listen(0, '127.0.0.1', listening));
    const webhook = `http://127.0.0.1:${server.address().port}/webhook`;
    await bot.api.setWebhook(webhook, { secret_token: given.secret });
    say('listening', { url: webhook });
    await until_told();
    const info = await bot.api.getWebhookInfo();
    await bot.api.deleteWebhook();
    say('left', {
      url: info.url,
      pending: info.pending_update_count,
      error: info.last_error_message ?? null,
      gone: (await bot.api.getWebhookInfo()).url,
    });
    server.close();
    server.closeAllConnections();
  },
});

function add_handlers() {
  bot.command('start', (context) => context.reply(`Привет, ${context.from.first_name}!`, { reply_markup: yes_no }));
  bot.on('callback_query:data', async (context) => {
    const answered = await context.answerCallbackQuery('Принято');
    await context.editMessageText(`Выбрано: ${context.callbackQuery.data}`);
    say('answered', { answered });
  });
  bot.on('message:text', (context) => context.reply(`Вы сказали: ${context.message.text}`));
}
