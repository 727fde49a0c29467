"""The window as a person uses it, in a real browser."""

import os
from collections.abc import AsyncIterator
from datetime import timedelta

import pytest

from pressroom.core.asgi import serving
from pressroom.sandbox.core.world import World
from pressroom.sandbox.run import Door
from pressroom.sandbox.window import window_app
from tests.sandbox.window import chromium
from tests.sandbox.window.chromium import Page
from tests.sandbox.window.demo import marked
from tests.sandbox.window.scripted import ScriptedProvider

CHROMIUM = chromium.find()

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        CHROMIUM is None and "CI" not in os.environ,
        reason="there is no Chromium to look through the window with: apt install chromium",
    ),
]


class Stage:
    """One server for all tests: each has a world of its own behind it."""

    app = None

    async def __call__(self, scope, receive, send):
        if scope["type"] == "http":
            await self.app(scope, receive, send)


@pytest.fixture(scope="module")
async def stage() -> AsyncIterator[tuple[Stage, str, Page]]:
    stage = Stage()
    drain = timedelta(seconds=0.2)  # event streams never end by themselves
    async with (
        serving(stage, what="the window", port=0, drain=drain) as port,
        chromium.browser(CHROMIUM or "") as page,
    ):
        yield stage, f"http://127.0.0.1:{port}/", page


class Window:
    """A world with a channel, a dialog and a group, and the page that shows it."""

    def __init__(self, page: Page, address: str) -> None:
        self.page, self.address = page, address
        self.world = World()
        self.telegram = ScriptedProvider(self.world, "telegram")
        self.max = ScriptedProvider(self.world, "max")
        self.bot = self.telegram.bot("Shop bot", "shop_bot")
        self.anna = self.telegram.person("Anna")
        self.news = self.telegram.new_chat("channel", "City news", self.bot, username="city_news")
        self.telegram.say(self.news, self.channel, "First post")
        self.talk = self.telegram.new_chat("private", "Anna", self.bot, self.anna)
        self.telegram.say(self.talk, self.bot, "Good morning")
        self.max_news = self.max.new_chat("channel", "News on MAX", self.max.bot("Max bot", "max_bot"))
        self.max.say(self.max_news, {"id": self.max_news, "name": "News on MAX", "kind": "channel"}, "From MAX")

    @property
    def channel(self):
        return {"id": self.news, "name": "City news", "kind": "channel"}

    async def open(self, chat: int | None = None) -> None:
        await self.page.size(1280, 800)
        await self.page.go("about:blank")
        await self.page.until("location.href === 'about:blank'")
        await self.page.go(self.address + (f"#telegram/{chat}" if chat else ""))
        await self.page.until("document.querySelector('.status')?.dataset.state === 'live'")
        await self.page.until("document.querySelectorAll('.row').length === 3")
        if chat:
            await self.page.until("document.querySelector('.conversation:not(.loading) .message')")


@pytest.fixture
async def window(stage) -> AsyncIterator[Window]:
    server, address, page = stage
    window = Window(page, address)
    server.app = window_app(window.world)
    await page.go(address)
    await page.until("document.readyState === 'complete'")
    await page.run("localStorage.clear(), sessionStorage.clear(), localStorage.setItem('person', 'Anna')")
    page.errors.clear()
    yield window
    assert page.errors == []
    await page.go("about:blank")


async def test_chats_of_both_messengers_are_listed_and_open(window):
    await window.open()

    titles = await window.page.run(
        "[...document.querySelectorAll('.row-title')].map((each) => each.innerText).sort()"
    )
    await window.page.click(f"[data-key='telegram/{window.news}']")

    assert titles == ["City news", "News on MAX", "Shop bot"]
    await window.page.until("document.querySelector('.message .text')?.innerText.startsWith('First post')")
    assert await window.page.run("location.hash") == f"#telegram/{window.news}"


async def test_a_new_post_appears_by_itself_and_is_counted_where_nobody_looks(window):
    await window.open(window.news)

    window.telegram.say(window.news, window.channel, "Second post")
    window.telegram.say(window.talk, window.bot, "Are you there?")

    await window.page.until(
        "[...document.querySelectorAll('.message')].at(-1).innerText.includes('Second post')"
    )
    await window.page.until(
        f"document.querySelector('[data-key=\"telegram/{window.talk}\"] .badge')?.innerText === '1'"
    )
    assert not await window.page.run(
        f"!!document.querySelector('[data-key=\"telegram/{window.news}\"] .badge')"
    )


async def test_edits_and_deletions_are_followed(window):
    message = window.telegram.say(window.news, window.channel, "A tpyo")
    other = window.telegram.say(window.news, window.channel, "A mistake")
    await window.open(window.news)

    window.telegram.edit(window.news, message, text="A typo")
    window.telegram.delete(window.news, other)

    await window.page.until(
        "document.querySelector('.edited')?.closest('.text').innerText.startsWith('A typo')"
    )
    await window.page.until("!document.querySelector('.messages').innerText.includes('A mistake')")


async def test_a_burst_ends_with_the_newest_in_sight(window):
    await window.open(window.news)

    for number in range(3_000):
        window.telegram.say(window.news, window.channel, f"Post {number}")

    await window.page.until("[...document.querySelectorAll('.message')].at(-1).innerText.includes('Post 2999')")
    assert await window.page.run("document.querySelectorAll('.message').length") <= 300
    assert await window.page.run(
        "(() => { const s = document.querySelector('.scroller'); return s.scrollHeight - s.scrollTop - s.clientHeight < 5 })()"
    )


async def test_older_messages_come_when_one_scrolls_up(window):
    for number in range(120):
        window.telegram.say(window.news, window.channel, f"Post {number}")
    await window.open(window.news)

    await window.page.until(
        "(document.querySelector('.scroller').scrollTop = 0, document.querySelector('.messages').innerText.includes('First post'))"
    )

    assert await window.page.run("document.querySelectorAll('.message').length") == 121


async def test_formatting_becomes_elements(window):
    text = (
        "<b>bold <i>both</i></b> <u>under</u> <s>gone</s> <code>x</code> <a href='https://example.org/'>link</a> "
        "<tg-spoiler>secret</tg-spoiler><pre><code class='language-python'>print()</code></pre>"
        "<blockquote expandable>quoted</blockquote>"
    )
    window.telegram.say(window.news, window.channel, **marked(text))
    await window.open(window.news)

    found = await window.page.run(
        "(() => { const text = [...document.querySelectorAll('.text')].at(-1); const of = (what) => text.querySelector(what)?.textContent;"
        "return [of('strong'), of('strong em'), of('u'), of('s'), of('code'), of('a[rel~=noopener]'), of('.spoiler'), of('pre > code'), of('blockquote > span')] })()"
    )
    await window.page.click(".spoiler")

    assert found == ["bold both", "both", "under", "gone", "x", "link", "secret", "print()", "quoted"]
    await window.page.until("document.querySelector('.spoiler.uncovered')")


async def test_overlapping_and_wild_entities_lose_no_text(window):
    text = "👍 one two"
    entities = [
        {"type": "bold", "offset": 0, "length": 6},
        {"type": "italic", "offset": 4, "length": 500},
        {"type": "underline", "offset": 1, "length": 1},
        {"type": "code", "offset": -3, "length": 4},
        {"type": "unheard_of", "offset": 3, "length": 3},
    ]
    window.telegram.say(window.news, window.channel, text, entities=entities)
    await window.open(window.news)

    shown = await window.page.run(
        "(() => { const text = [...document.querySelectorAll('.text')].at(-1).cloneNode(true); text.querySelector('.meta').remove();"
        "return [text.textContent.slice(2), [...text.querySelectorAll('em')].map((each) => each.textContent).join('')] })()"
    )

    assert shown == [" one two", "ne two"]


async def test_a_script_in_a_text_is_text(window):
    attack = "<script>window.hit = 1</script><img src=x onerror='window.hit = 2'>"
    bad = [{"type": "text_link", "offset": 0, "length": 8, "url": "javascript:window.hit=3"}]
    window.telegram.say(
        window.news, {**window.channel, "name": attack}, attack, entities=bad, forwarded_from=attack,
        buttons=[[{"text": attack, "kind": "url", "data": "javascript:window.hit=4"}]],
        preview={"url": "javascript:window.hit=5", "title": attack},
    )  # fmt: skip
    await window.open(window.news)

    await window.page.run(
        "[...document.querySelectorAll('.message button, .message span')].forEach((each) => each.click())"
    )

    assert attack in await window.page.run("[...document.querySelectorAll('.text')].at(-1).innerText")
    assert (
        await window.page.run(
            "document.querySelectorAll('.messages :is(img, script, [href^=javascript])').length"
        )
        == 0
    )
    assert await window.page.run("window.hit === undefined")


async def test_a_press_reaches_the_provider_and_shows_the_answer(window):
    row = [{"text": "Buy", "kind": "callback", "data": "buy:1"}]
    message = window.telegram.say(window.talk, window.bot, "Shall I?", buttons=[row])
    await window.open(window.talk)

    await window.page.click(".inline-button")
    await window.page.until("document.querySelector('.inline-button.pending')")
    window.telegram.answer(window.talk, message, "Thank you!")

    await window.page.until("document.querySelector('.toast')?.innerText.includes('Thank you!')")
    await window.page.until("!document.querySelector('.inline-button.pending')")
    wish = {"person": window.anna["id"], "chat": window.talk, "message_id": message["id"], "data": "buy:1"}
    assert window.telegram.deeds == [("presses", wish)]


async def test_what_a_person_writes_reaches_the_provider(window):
    await window.open(window.talk)

    await window.page.run("document.querySelector('.write').focus()")
    await window.page.write("Hello, bot")
    await window.page.key("Enter")

    await window.page.until("document.querySelector('.message.out .text')?.innerText.startsWith('Hello, bot')")
    said = {"person": window.anna["id"], "chat": window.talk, "text": "Hello, bot"}
    assert window.telegram.deeds == [("writes", said)]
    assert await window.page.run("document.querySelector('.write').value") == ""


async def test_a_file_goes_along_as_base64(window):
    await window.open(window.news)

    await window.page.run(
        "(() => { const files = new DataTransfer(); files.items.add(new File(['abc'], 'note.txt', { type: 'text/plain' }));"
        "const picker = document.querySelector('input[type=file]'); picker.files = files.files; picker.dispatchEvent(new Event('change')) })()"
    )
    await window.page.until("document.querySelector('.attachment')")
    await window.page.click(".send")

    await window.page.until("document.querySelector('.card')?.innerText.includes('note.txt')")
    media = [{"kind": "document", "name": "note.txt", "type": "text/plain", "data": "YWJj"}]
    assert window.telegram.deeds == [("posts", {"chat": window.news, "media": media})]


async def test_a_refusal_is_said_and_what_was_written_stays(window):
    await window.open(window.talk)

    await window.page.run("document.querySelector('.write').focus()")
    await window.page.write("refuse me")
    await window.page.key("Enter")

    await window.page.until(
        "document.querySelector('.toast.error')?.innerText === 'the script refuses this text'"
    )
    assert await window.page.run("document.querySelector('.write').value") == "refuse me"
    window.page.errors.clear()  # the browser logs each answer that is an error


async def test_somebody_new_starts_a_bot(window):
    await window.open()
    await window.page.run("localStorage.removeItem('person')")
    await window.open()

    await window.page.key("n")
    await window.page.click(".choices .choice")
    await window.page.until("document.activeElement?.matches('form .field')")
    await window.page.write("Boris")
    await window.page.key("Enter")

    await window.page.until("document.querySelector('.message.out .text')?.innerText.startsWith('/start')")
    boris = next(person for person in window.telegram.people() if person["name"] == "Boris")
    assert window.telegram.deeds == [("starts", {"person": boris["id"], "bot": window.bot["id"]})]


async def test_the_language_can_be_changed(window):
    await window.open()
    assert await window.page.run("document.documentElement.lang") == "en"
    assert await window.page.run("document.querySelector('.search').placeholder") == "Search"

    await window.page.run(
        "(document.querySelector('.sidebar-head .icon-button').click(), [...document.querySelectorAll('.menu-item')].find((each) => each.innerText.includes('Русский')).click())"
    )

    await window.page.until("document.querySelector('.search').placeholder === 'Поиск'")
    assert await window.page.run("document.documentElement.lang") == "ru"
    await window.open(window.news)
    assert "1 сообщение" in await window.page.run("document.querySelector('.chat-names p').innerText")


async def test_the_wall_fills(window):
    await window.open()

    await window.page.key("w")
    await window.page.until("document.querySelectorAll('.tile .small-bubble').length === 3")
    window.telegram.say(window.news, window.channel, "On the wall")

    await window.page.until(
        f"document.querySelector('.tile[data-key=\"telegram/{window.news}\"] .small-bubble:last-child').innerText.includes('On the wall')"
    )
    assert await window.page.run("location.hash") == "#wall"


@pytest.mark.parametrize("width", [320, 390])
async def test_a_phone_shows_one_screen_at_a_time_and_never_scrolls_sideways(window, width):
    long = "https://example.org/" + "a" * 300
    row = [{"text": "A button with quite a long title", "kind": "callback", "data": "1"}] * 3
    window.telegram.say(window.news, window.channel, f"{long} {'word' * 60}", buttons=[row])
    fits = "document.documentElement.scrollWidth <= innerWidth && document.querySelector('.messages').scrollWidth <= innerWidth"
    await window.open(window.news)

    await window.page.size(width, 844)

    await window.page.until("getComputedStyle(document.querySelector('.sidebar')).display === 'none'")
    assert await window.page.run(fits)
    await window.page.click(".go-back")
    await window.page.until("getComputedStyle(document.querySelector('.main')).display === 'none'")
    assert await window.page.run(fits)
    await window.page.run("location.hash = 'wall'")
    await window.page.until("document.querySelector('.tile')")
    assert await window.page.run(fits)


async def test_everything_is_reached_by_keyboard(window):
    await window.open()

    await window.page.key("/")
    await window.page.until("document.activeElement.matches('.search')")
    await window.page.write("city")
    await window.page.until("document.querySelectorAll('.row').length === 1")
    await window.page.key("Enter")
    await window.page.until("document.activeElement.matches('.list')")
    await window.page.key("Enter")
    await window.page.until("document.activeElement.matches('.write')")
    assert await window.page.run("location.hash") == f"#telegram/{window.news}"

    await window.page.key("Escape")
    await window.page.until(
        "document.activeElement.matches('.list') && !document.querySelector('[aria-selected=true]')"
    )
    await window.page.key("/")
    await window.page.key("Escape")
    await window.page.until("document.querySelectorAll('.row').length === 3")
    await window.page.run("document.querySelector('.list').focus()")
    await window.page.key("Home")
    first = await window.page.run("document.querySelector('.list').getAttribute('aria-activedescendant')")
    await window.page.key("j")
    assert (
        await window.page.run("document.querySelector('.list').getAttribute('aria-activedescendant')") != first
    )
    await window.page.key("ArrowUp")
    assert (
        await window.page.run("document.querySelector('.list').getAttribute('aria-activedescendant')") == first
    )
    await window.page.key("ArrowDown", alt=True)
    await window.page.until("location.hash.includes('/')")
    await window.page.run("document.activeElement.blur()")
    await window.page.key("?")
    await window.page.until("document.querySelector('dialog[open] .keys')")
    await window.page.key("Escape")
    await window.page.until("!document.querySelector('dialog')")


async def test_clock_and_faults_are_at_hand(window):
    await window.open(window.news)

    await window.page.key("s")
    await window.page.until("document.querySelectorAll('.drawer .pill').length > 5")
    before = window.world.clock.now()
    await window.page.run(
        "[...document.querySelectorAll('.drawer .pill')].find((each) => each.innerText === '+1 h').click()"
    )
    await window.page.run(
        "[...document.querySelectorAll('.drawer .pill')].find((each) => each.innerText === 'Drop after effect').click()"
    )

    await window.page.until("document.querySelector('.drawer .fault')")
    assert window.world.clock.now() - before > 3_500
    [fault] = window.world.faults
    assert (fault.kind, fault.chat, fault.before_effect, fault.times) == ("drop", window.news, False, 1)
    await window.page.click(".drawer .fault .pill")
    await window.page.until("!document.querySelector('.drawer .fault')")
    assert not window.world.faults


async def test_an_empty_sandbox_says_what_to_do_next(window, stage):
    server, address, page = stage
    world = World()
    world.example = 'pressroom push "Hello"'
    server.app = window_app(world)

    await page.go("about:blank")
    await page.go(address)

    await page.until("document.querySelector('.welcome h1')?.innerText === 'Nothing has been sent yet'")
    assert world.example in await page.run("document.querySelector('.command').innerText")


async def test_a_sandbox_started_anew_is_noticed_and_shown_from_its_beginning(window, stage):
    server, _, page = stage
    for number in range(20):
        window.telegram.say(window.news, window.channel, f"Old post {number}")
    door = server.app = Door(window_app(window.world))
    await window.open()
    world = World()
    telegram = ScriptedProvider(world, "telegram")
    bot = telegram.bot("Shop bot", "shop_bot")
    news = telegram.new_chat("channel", "Another city", bot)
    telegram.say(news, bot, "The first of a new life")

    server.app = window_app(world)
    door.close()

    await page.until(
        "[...document.querySelectorAll('.row-title')].map((each) => each.innerText).join() === 'Another city'"
    )
    telegram.say(news, bot, "and the second")
    await page.until("document.querySelector('.row-text').innerText.includes('and the second')")
    await page.until("document.querySelector('.status').dataset.state === 'live'")
    page.errors.clear()  # the browser logs the connection that was cut


async def test_rows_do_not_lie_upon_each_other_while_much_happens(window):
    chats = [window.news, window.talk]
    await window.open()
    moving = "document.querySelector('.list.hurried')"
    resting = f"""[...{moving}.querySelectorAll('.row')].every((row) =>
        getComputedStyle(row).transitionDuration === '0s' && new DOMMatrix(getComputedStyle(row).transform).f % 72 === 0)"""

    seen = []
    for number in range(8):
        window.telegram.say(chats[number % 2], window.bot, f"Post {number}")
        await window.page.until(
            f"[...document.querySelectorAll('.row-text')].some((each) => each.innerText.includes('Post {number}'))"
        )
        if await window.page.run(f"!!{moving}"):
            seen.append(await window.page.run(resting))

    assert len(seen) >= 4
    assert all(seen)
