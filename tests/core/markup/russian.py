"""Russian texts as people post them: paragraphs of our own documents, and sentences with links, names and numbers."""

import random
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
DOCUMENTS = ("README.ru.md", "README.md", "docs")

OPENINGS = (
    "Друзья, у нас новости", "Внимание", "Коротко о главном", "Сегодня в выпуске", "Скидки до 50%", "Открыта запись",
    "Переехали", "Вопрос недели", "❗️Срочно", "Доброе утро, город", "По просьбам подписчиков", "Итоги 2025 г", "Ура",
)  # fmt: skip
PHRASES = (
    "подробности на сайте {link}", "пишите {mention}", "звоните {phone}", "почта {email}", "теги: {tag} {tag}", "читайте {link}, там всё",
    "карта {card} (Сбер)", "команда {command} запустит бота", "по курсу {cash} за единицу", "ссылка:{link}", "({link})", "«{link}»",
    "{link} — официальный сайт", "канал {mention}, чат {mention}", "цена {price}", "с {time} до {time}", "адрес: ул. Ленина,д.5,кв.10",
    "т.е. без выходных", "и т.д. и т.п.", "версия {version}", "файл отчёт.pdf и список.xlsx", "на {date} мест нет", "см.{link}",
    "смотри\n{link}\nи делись", "инструкция в readme.md", "IP сервера {ip}", "Ваш код: {code}.Никому не говорите", "№{code}/{version}",
    "{tag}{tag}", "{mention}:{link}", "e-mail:{email};тел.:{phone}", "плюсы/минусы, и/или", "Москва.Питер.Казань", "{link}.",
    "{link}!", "{link}?", "{link},", "по {link}#отзывы", "👉{link}", "👍{tag}👍", "#1 в мире", "$100 и 100$", "@ 9 утра",
)  # fmt: skip
VALUES = {
    "link": (
        "https://example.ru/новости?id=5&utm_source=tg",
        "http://пример.рф/путь/к/статье",
        "пример.рф",
        "example.com",
        "www.site.ru/a_b",
        "t.me/durov",
        "https://t.me/+AbCdEf",
        "https://vk.com/wall-1_2",
        "site.ru:8080/x",
        "https://ru.wikipedia.org/wiki/Дом_(здание)",
        "tg://resolve?domain=durov",
        "Сайт.рф",
        "EXAMPLE.RU",
        "магазин.онлайн/каталог",
        "https://пример.испытание",
        "ozon.ru/t/x-1",
        "https://e.com/a,b;c",
        "user@site.ru/page",
        "site.info",
        "localhost:8800",
        "http://127.0.0.1:8801/x",
        "docs.python.org/3/",
    ),
    "mention": ("@durov", "@ab", "@My_Shop_bot", "@канал", "@gif", "@user1", "@a" * 20),
    "phone": ("+7 (999) 123-45-67", "8 800 555-35-35", "+79991234567", "8(495)123-45-67", "112"),
    "email": (
        "info@example.ru",
        "ivan.petrov+news@mail.example.com",
        "почта@пример.рф",
        "a_b-c@d.co",
        "mailto:x@y.ru",
    ),
    "tag": ("#новости", "#скидки2025", "#2025", "#a_b", "#Тег@channel", "#город/#село", "#ё", "##два"),
    "card": (
        "4111 1111 1111 1111",
        "4276-3800-1234-5678",
        "2200 0000 0000 0004",
        "5555555555554444",
        "40817810099910004312",
    ),
    "command": ("/start", "/help@my_shop_bot", "/настройки", "/a/b", "/set_rate"),
    "cash": ("$BTC", "$USD", "$usd", "$TON@market", "$GAZPROM", "$VERYLONGNAME"),
    "price": ("1 990 ₽", "99.90 руб.", "от 5000р.", "2,5 млн.руб", "1.500.000", "10$/шт."),
    "time": ("9-00", "18.30", "9 ч.", "21 ч"),
    "date": ("01.02.2025", "1 мая", "31.12", "2025-05-09", "5/6"),
    "version": ("1.8.69", "v2.0", "3.11", "10.3.1-rc1"),
    "ip": ("192.168.0.1", "10.0.0.1:5432", "8.8.8.8", "999.1.1.1"),
    "code": ("123456", "A-17", "0042"),
}


def texts(count: int, seed: int) -> Iterator[str]:
    rng = random.Random(f"{seed} Russian")
    written = paragraphs()
    for _ in range(count):
        yield rng.choice(written) if rng.random() < 0.1 else post(rng)


def paragraphs() -> list[str]:
    files = [path for name in DOCUMENTS for path in _files(ROOT / name)]
    return [text for path in files for text in path.read_text("utf-8").split("\n\n") if text.strip()]


def _files(path: Path) -> list[Path]:
    return sorted(path.rglob("*.md")) if path.is_dir() else [path]


def post(rng: random.Random) -> str:
    phrases = [filled(rng, rng.choice(PHRASES)) for _ in range(rng.randint(1, 6))]
    joined = "".join(
        phrase + rng.choice((". ", ".\n", "\n", ", ", "; ", " ", "! ", "\n\n", ".")) for phrase in phrases
    )
    return rng.choice(OPENINGS) + rng.choice((": ", "!\n\n", ". ", " — ", "\n", ".")) + joined.strip()


def filled(rng: random.Random, phrase: str) -> str:
    while (begin := phrase.find("{")) >= 0:
        end = phrase.index("}", begin)
        phrase = phrase[:begin] + rng.choice(VALUES[phrase[begin + 1 : end]]) + phrase[end + 1 :]
    return phrase
