"""A few dozen chats with everything that a message can hold: `python -m tests.sandbox.window.demo [port]`."""

import asyncio
import sys
from itertools import cycle
from random import Random
from typing import Any

from pressroom.core.asgi import serving
from pressroom.core.markup import Dialect, parse
from pressroom.sandbox.core.clock import Clock
from pressroom.sandbox.core.view import ActorView, EntityView, MessageView
from pressroom.sandbox.core.world import World
from pressroom.sandbox.window import window_app
from tests.sandbox.window.scripted import ScriptedProvider

CHANNELS = """Утренний кофе|Городские новости|Наука и жизнь|Кино сегодня|Рецепты бабушки|Погода Пермь|Железные дороги
Ракеты и спутники|Книжная полка|Технологии|Эко-привычки|Музыка 80-х|Дача и сад|Вакансии IT|Путешествия налегке|Авто
Здоровье|Экономика просто|Настольные игры|Фотография|Дизайн|Коты дня|Театральная касса|Испанский с нуля|Бег по утрам
World News|Product Hunt|Weather Lisbon|Indie Games|Rust Weekly|Design Notes|Morning Brief|Space Log|Slow Food
Книги 24|Хоккей|Шахматы|Архитектура|Подкасты|История""".replace("\n", "|").split("|")

POSTS = """Мост через Каму откроют в сентябре: строители закончили укладку асфальта.
Сегодня в полдень — до <b>+24 °C</b>, к вечеру дождь. Зонт не помешает ☂️
<b>Как выбрать велосипед?</b> Разбираем раму, размер и цену.
Премьера недели: драма о смотрителе маяка. <i>Две минуты тишины в конце стоят билета.</i>
Курс евро снизился на 40 копеек, рубль укрепляется третий день подряд.
New release: faster imports, calmer logs, fewer surprises. <a href="https://example.org/notes">Notes</a>
Учёные впервые <u>сфотографировали</u> редкую медузу на глубине 4 км.
Рецепт дня: шарлотка с корицей. Яблоки — кислые, тесто — жидкое, духовка — 180°.
<blockquote>Лучшее время посадить дерево было двадцать лет назад.</blockquote>Следующее лучшее — сегодня.
The comet is visible tonight after 22:40, low in the north-west. #astronomy""".splitlines()


def marked(html: str) -> dict[str, Any]:
    markup = parse(html, Dialect.HTML)
    entities: list[EntityView] = []
    for each in markup.entities:
        entity: EntityView = {"type": each.type, "offset": each.offset, "length": each.length}
        for name in ("url", "user_id", "language", "unix_time"):
            if (value := getattr(each, name)) is not None:
                entity[name] = value
        entities.append(entity)
    return {"text": markup.text, "entities": entities}


def found(text: str, *pieces: tuple[str, str]) -> list[EntityView]:
    """Entities over pieces of a text, as a provider detects them."""
    return [
        {"type": kind, "offset": units(text[: text.index(piece)]), "length": units(piece)}
        for kind, piece in pieces
    ]


def units(text: str) -> int:
    return len(text.encode("utf-16-le")) // 2


def scenery(seed: int, width: int, height: int) -> bytes:
    """A landscape of its own for each number."""
    chance = Random(seed)
    hue = chance.randrange(360)
    hills = ""
    for layer in range(3):
        level = height * (0.45 + 0.18 * layer)
        points = " ".join(
            f"{x},{level + chance.uniform(-0.13, 0.1) * height:.0f}" for x in range(0, width + 1, width // 6)
        )
        hills += f'<polygon points="0,{height} {points} {width},{height}" fill="hsl({hue + 20 * layer},38%,{46 - 12 * layer}%)"/>'
    x, y, r = chance.uniform(0.2, 0.8) * width, chance.uniform(0.15, 0.4) * height, height * 0.09
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}"><defs><linearGradient id="s" x2="0" y2="1">'
        f'<stop stop-color="hsl({hue + 180},62%,70%)"/><stop offset="1" stop-color="hsl({hue + 40},80%,84%)"/></linearGradient></defs>'
        f'<rect width="100%" height="100%" fill="url(#s)"/><circle cx="{x:.0f}" cy="{y:.0f}" r="{r:.0f}" fill="#fff8d8"/>{hills}</svg>'
    ).encode()


def photo(
    provider: ScriptedProvider, seed: int, width: int = 1200, height: int = 800, **more: Any
) -> dict[str, Any]:
    name = provider.keep(f"scenery-{seed}-{width}x{height}.svg", "image/svg+xml", scenery(seed, width, height))
    return {"kind": "photo", "file": name, "type": "image/svg+xml", "width": width, "height": height, **more}


class Demo:
    """What the pictures show, and a feed that goes on while somebody looks."""

    def __init__(self) -> None:
        self.world = World(seed=7, clock=Clock())
        self.telegram = ScriptedProvider(self.world, "telegram")
        self.max = ScriptedProvider(self.world, "max")
        self.channels: list[tuple[ScriptedProvider, int, ActorView]] = []
        self._days_back(3)
        for provider in (self.telegram, self.max):
            self._fill_channels(provider)
        self._later(days=1)
        self.group = self._group()
        self.dialogs = [self._dialog(provider) for provider in (self.telegram, self.max)]
        self._later(hours=20)
        self.everything = [self._everything(provider) for provider in (self.telegram, self.max)]
        self.albums = self._albums()
        self._later(minutes=30)
        self._latest()

    def _days_back(self, days: int) -> None:
        self.world.clock.advance(-86_400 * days)

    def _later(self, days: float = 0, hours: float = 0, minutes: float = 0) -> None:
        self.world.clock.advance(86_400 * days + 3600 * hours + 60 * minutes)

    def _fill_channels(self, provider: ScriptedProvider) -> None:
        poster = provider.bot("Pressroom", "pressroom_bot")
        titles = CHANNELS[:26] if provider is self.telegram else CHANNELS[26:]
        posts = cycle(POSTS)
        for number, title in enumerate(titles):
            chat = provider.new_chat("channel", title, poster, username=f"channel_{provider.name}_{number}")
            sender: ActorView = {"id": chat, "name": title, "kind": "channel"}
            self.channels.append((provider, chat, sender))
            for _ in range(number % 4 + 2):
                for _skip in range(number % 3):
                    next(posts)
                more = {"media": [photo(provider, number)]} if number % 5 == 0 else {}
                provider.say(chat, sender, **marked(next(posts)), **more, views=120 * number + 7)
                self._later(minutes=3)

    def _dialog(self, provider: ScriptedProvider) -> int:
        bot = provider.bot(
            "Книжный бот" if provider is self.telegram else "Помощник MAX", f"shop_{provider.name}_bot"
        )
        anna = provider.person("Анна")
        provider.person("Boris")
        chat = provider.new_chat("private" if provider is self.telegram else "dialog", "Анна", bot, anna)
        provider.say(
            chat, anna, "/start", entities=[{"type": "bot_command", "offset": 0, "length": 6}], method="writes"
        )
        provider.say(
            chat,
            bot,
            **marked("Здравствуйте, <b>Анна</b>! 👋\nЧто ищете сегодня? Команды: /catalog, /orders"),
            buttons=[
                [
                    {"text": "📚 Каталог", "kind": "callback", "data": "catalog"},
                    {"text": "🛒 Корзина", "kind": "callback", "data": "cart"},
                ],
                [{"text": "Сайт магазина", "kind": "url", "data": "https://example.org/shop"}],
                [
                    {"text": "Промокод", "kind": "copy", "data": "SALE-20"},
                    {"text": "Позвать человека", "kind": "callback", "data": "help"},
                ],
            ],
        )
        question = provider.say(chat, anna, "Хочу книгу про моря и маяки 🌊", method="writes")
        provider.say(chat, anna, "Желательно с картинками", method="writes")
        provider.say(
            chat,
            bot,
            **marked(
                "Нашлась одна! <b>«Смотритель»</b>, 416 страниц, <s>890 ₽</s> <b>640 ₽</b>\n<tg-spoiler>В конце маяк гаснет.</tg-spoiler>"
            ),
            media=[photo(provider, 41, 1000, 700)],
            reply_to={"id": question["id"], "sender": "Анна", "text": question["text"]},
            buttons=[[{"text": "Купить за 640 ₽", "kind": "callback", "data": "buy:41"}]],
        )
        provider.say(chat, anna, "Беру! Вот адрес и чек", method="writes", media=[
            {"kind": "document", "name": "Чек № 4182 от 19 ноября.pdf", "type": "application/pdf", "size": 184_320, "file": provider.keep("receipt.pdf", "application/pdf", b"%PDF-1.4")},
        ])  # fmt: skip
        provider.say(chat, bot, "Спасибо! Заказ соберём сегодня, курьер позвонит завтра с 10 до 12.")
        return chat

    def _group(self) -> int:
        provider = self.telegram
        people = [provider.person(name) for name in ("Мария Котова", "Игорь", "Lena Fischer")]
        bot = provider.bot("Дежурный бот", "duty_bot")
        chat = provider.new_chat("supergroup", "Редакция", bot, *people)
        provider.say(chat, people[0], "Мария Котова создала группу «Редакция»", service=True)
        first = provider.say(chat, people[0], "Коллеги, кто сегодня на вечернем выпуске?", method="writes")
        provider.say(
            chat,
            people[1],
            "Я! С 18 до полуночи.",
            method="writes",
            reply_to={"id": first["id"], "sender": "Мария Котова", "text": first["text"]},
        )
        provider.say(chat, people[1], "Только картинки пришлите заранее 🙏", method="writes")
        provider.say(chat, people[2], "Photos are in the folder, captions by six.", method="writes")
        provider.say(
            chat, bot, **marked("Очередь: <b>12</b> постов, следующий в <code>18:05</code>. Ошибок нет ✅")
        )
        provider.say(chat, people[0], "Спасибо! Закрепляю правила", method="writes", pinned=True)
        return chat

    def _everything(self, provider: ScriptedProvider) -> int:
        """All formatting in one channel."""
        bot = provider.bot("Форматы", f"formats_{provider.name}_bot")
        title = "Все форматы" if provider is self.telegram else "Форматы MAX"
        chat = provider.new_chat("channel", title, bot, username=f"formats_{provider.name}")
        me: ActorView = {"id": chat, "name": title, "kind": "channel"}
        provider.say(chat, me, **marked(
            "<b>Жирный</b>, <i>курсив</i>, <u>подчёркнутый</u>, <s>зачёркнутый</s>, <code>код</code>, <tg-spoiler>спойлер с <b>жирным</b></tg-spoiler>, "
            "<b>жирный <i>и курсив <u>и черта</u></i></b>, <a href='https://example.org/long/path'>ссылка</a>, <tg-emoji emoji-id='5'>🔥</tg-emoji> 👨‍👩‍👧‍👦"
        ), views=18_400, pinned=True)  # fmt: skip
        provider.say(chat, me, **marked(
            "Пример для документации:\n<pre><code class='language-python'>async def push(text: str) -> Receipt:\n    async with session() as http:\n        return await http.send(text)</code></pre>\nИ простой блок:\n<pre>make up</pre>"
        ), views=9_120)  # fmt: skip
        provider.say(chat, me, **marked(
            "<blockquote>Короткая цитата в две\nстроки.</blockquote>После неё — текст.\n<blockquote expandable>Длинная цитата: первая строка.\nВторая строка о том же.\nТретья, почти последняя.\nЧетвёртая скрыта, пока не раскроют.\nПятая тоже.</blockquote>Конец."
        ), views=7_300, edited_at=self.world.clock.now() + 60)  # fmt: skip
        text = "Наш сайт — example.org. Пишите @duty_bot или на editor@mail.example, звоните +7 900 123-45-67 #новости /start"
        provider.say(chat, me, text, entities=found(
            text, ("mention", "@duty_bot"), ("email", "editor@mail.example"), ("phone_number", "+7 900 123-45-67"),
            ("url", "example.org"), ("hashtag", "#новости"), ("bot_command", "/start"),
        ), views=5_210, preview={"url": "https://example.org/", "title": "Example Domain"})  # fmt: skip
        provider.say(
            chat,
            me,
            "<script>alert(1)</script> <img src=x onerror=alert(2)> — просто текст",
            views=88,
            forwarded_from="Осторожный канал",
        )
        provider.say(
            chat,
            me,
            "Плохая ссылка не открывается",
            entities=[{"type": "text_link", "offset": 0, "length": 13, "url": "javascript:alert(3)"}],
        )
        provider.say(chat, me, "", media=[
            {"kind": "audio", "title": "Прибой — Утро", "type": "audio/mpeg", "duration": 214, "size": 5_140_000},
        ])  # fmt: skip
        provider.say(
            chat, me, "", media=[{"kind": "voice", "type": "audio/ogg", "duration": 17, "size": 41_000}]
        )
        provider.say(
            chat,
            me,
            "Видео, которое не сохранилось",
            media=[
                {
                    "kind": "video",
                    "name": "harbour.mp4",
                    "width": 1280,
                    "height": 720,
                    "duration": 75,
                    "size": 18_000_000,
                }
            ],
        )
        provider.say(chat, me, "Голосуем?", views=412, buttons=[
            [{"text": f"{mark} {count}", "kind": "callback", "data": mark} for mark, count in (("👍", 41), ("👎", 3), ("🤔", 12))],
            [{"text": "Очень длинная подпись кнопки, которой не хватит места в одной строке", "kind": "callback", "data": "long"}],
        ])  # fmt: skip
        return chat

    def _albums(self) -> int:
        provider = self.telegram
        bot = provider.bot("Фотобот", "photo_bot")
        chat = provider.new_chat("channel", "Альбомы", bot, username="albums")
        me: ActorView = {"id": chat, "name": "Альбомы", "kind": "channel"}
        shapes = [(1200, 800), (800, 1200), (1000, 1000), (1600, 900)]
        for count in (2, 3, 4, 5, 7, 10):
            for index in range(count):
                width, height = shapes[(index * 3 + count) % 4]
                text = f"Альбом из {count}" if index == 0 and count % 2 else ""
                provider.say(
                    chat,
                    me,
                    text,
                    album=f"a{count}",
                    media=[photo(provider, 100 * count + index, width, height)],
                    method="sendMediaGroup",
                )
        provider.say(chat, me, "", media=[photo(provider, 3, 900, 1200, spoiler=True)])
        provider.say(
            chat,
            me,
            "Портрет с подписью, которая длиннее самой картинки и переносится",
            media=[photo(provider, 5, 600, 900)],
        )
        return chat

    def _latest(self) -> None:
        for number, (provider, chat, sender) in enumerate(self.channels[::3]):
            provider.say(chat, sender, **marked(POSTS[number % len(POSTS)]), views=number * 31 + 4)
            self._later(minutes=1)

    def next_post(self, chance: Random) -> MessageView:
        provider, chat, sender = chance.choice(self.channels)
        more = {"media": [photo(provider, chance.randrange(40))]} if chance.random() < 0.2 else {}
        return provider.say(chat, sender, **marked(chance.choice(POSTS)), **more, views=1)


async def show(port: int, per_second: float) -> None:
    demo = Demo()
    chance = Random(1)
    async with serving(window_app(demo.world), what="the window", port=port) as at:
        print(f"http://127.0.0.1:{at}/", flush=True)
        while True:
            await asyncio.sleep(1 / per_second)
            demo.next_post(chance)


if __name__ == "__main__":
    given = [float(each) for each in sys.argv[1:]]
    asyncio.run(show(int(given[0]) if given else 8099, given[1] if len(given) > 1 else 0.5))
