"""What a browser is given, before it runs anything."""

import json
import re
from collections.abc import AsyncIterator

import aiohttp
import pytest
from yarl import URL

from pressroom.core.asgi import serving
from pressroom.sandbox.core.view import VERBS
from pressroom.sandbox.core.world import World
from pressroom.sandbox.window import window_app
from pressroom.sandbox.window.page import TYPES, read_assets
from tests.sandbox.window.scripted import ScriptedProvider

ASSETS = read_assets()
SCRIPTS = {name: asset.content.decode() for name, asset in ASSETS.items() if name.endswith(".js")}
MOST_BYTES = 180_000


@pytest.fixture
def world() -> World:
    world = World()
    for name in ("telegram", "max"):
        provider = ScriptedProvider(world, name)
        provider.say(
            provider.new_chat("channel", f"News on {name}", provider.bot("Bot", "a_bot")),
            provider.bots()[0],
            "Hello",
        )
    return world


@pytest.fixture
async def client(world: World) -> AsyncIterator[aiohttp.ClientSession]:
    async with (
        serving(window_app(world), what="the window", port=0) as port,
        aiohttp.ClientSession(f"http://127.0.0.1:{port}") as client,
    ):
        yield client


async def test_the_page_lets_in_nothing_but_its_own_files(client):
    answer = await client.get("/")

    policy = dict(part.strip().split(" ", 1) for part in answer.headers["content-security-policy"].split(";"))
    assert answer.status == 200 and answer.headers["content-type"] == "text/html; charset=utf-8"
    assert policy["default-src"] == policy["script-src"] == policy["style-src"] == "'self'"
    assert policy["frame-ancestors"] == policy["base-uri"] == policy["form-action"] == "'none'"
    assert policy["require-trusted-types-for"] == "'script'" and policy["trusted-types"] == "'none'"
    assert "unsafe" not in answer.headers["content-security-policy"]
    assert answer.headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize("name", [name for name in ASSETS if name != "index.html"])
async def test_an_asset_comes_with_its_type_and_is_not_sent_twice(client, name):
    first = await client.get(f"/assets/{name}")
    again = await client.get(f"/assets/{name}", headers={"If-None-Match": first.headers["etag"]})

    assert first.status == 200
    assert (
        first.headers["content-type"] in TYPES.values() and first.headers["x-content-type-options"] == "nosniff"
    )
    assert first.headers["cache-control"] == "no-cache"
    assert (again.status, await again.read()) == (304, b"")


def test_everything_that_a_file_asks_for_is_there(client):
    page = ASSETS["index.html"].content.decode()
    asked = re.findall(r'(?:src|href)="/assets/([^"]+)"', page)
    asked += [name for script in SCRIPTS.values() for name in re.findall(r"from '\./([^']+)'", script)]
    for name, asset in ASSETS.items():
        if name.endswith(".css"):
            asked += re.findall(r"url\(/assets/([^)]+)\)", asset.content.decode())

    assert asked and set(asked) <= set(ASSETS)


def test_no_file_reaches_out_into_the_world():
    namespaces = ("http://www.w3.org/2000/svg",)
    for name, asset in ASSETS.items():
        text = asset.content.decode()
        for namespace in namespaces:
            text = text.replace(namespace, "")
        found = re.findall(r"(?:https?:|['\"(])//[\w-]+\.[\w.-]+", text)
        assert not found, f"{name} names {found}"


def test_no_script_makes_elements_from_text():
    ways = r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|DOMParser|\beval\(|new Function|createContextualFragment"
    for name, script in SCRIPTS.items():
        assert not re.search(ways, script), f"{name} reads text as markup"


def test_the_page_stays_small():
    assert sum(len(asset.content) for asset in ASSETS.values()) < MOST_BYTES


@pytest.mark.parametrize(
    "path", ["/assets/page.py", "/assets/__init__.py", "/assets/..%2fpage.py", "/assets/none.js"]
)
async def test_only_assets_are_served(client, path):
    answer = await client.get(URL(path, encoded=True))

    assert answer.status == 404


@pytest.mark.parametrize("path", ["/", "/assets/app.js", "/sandbox"])
async def test_another_name_for_this_machine_is_turned_away(client, world, path):
    evil = {"Host": "evil.example"}

    answer = await client.get(path, headers=evil)
    world.any_host = True
    async with serving(window_app(world), what="the window", port=0) as port:
        elsewhere = await client.get(URL(f"http://127.0.0.1:{port}{path}"), headers=evil)

    assert answer.status == 403 and "evil.example" in (await answer.json())["error"]
    assert elsewhere.status == 200


def test_both_languages_say_everything():
    strings = json.loads(SCRIPTS["strings.js"].partition("export const STRINGS = ")[2].rstrip().rstrip(";"))

    assert set(strings["en"]) == set(strings["ru"])
    for key, english in strings["en"].items():
        russian = strings["ru"][key]
        if isinstance(english, dict):
            assert set(english) == {"one", "other"} and set(russian) == {"one", "few", "many", "other"}, key
        else:
            assert set(re.findall(r"\{\w+\}", english)) == set(re.findall(r"\{\w+\}", russian)), key


def test_every_sentence_that_the_page_asks_for_exists():
    strings = json.loads(SCRIPTS["strings.js"].partition("export const STRINGS = ")[2].rstrip().rstrip(";"))[
        "en"
    ]
    rest = "\n".join(script for name, script in SCRIPTS.items() if name != "strings.js")
    plain = set(re.findall(r"\bt\('(\w+)'", rest))
    plain |= {key for pair in re.findall(r"\bt\([^()]*\? '(\w+)' : '(\w+)'\)", rest) for key in pair}
    counted = set(re.findall(r"\bn\('(\w+)'", rest))

    assert plain and plain <= {key for key, value in strings.items() if isinstance(value, str)}
    assert counted and counted <= {key for key, value in strings.items() if isinstance(value, dict)}


@pytest.mark.parametrize(
    "path",
    [
        "", "/faults", "/clock", "/{p}/bots", "/{p}/people", "/{p}/chats?offset=0&limit=10", "/{p}/chats/{c}",
        "/{p}/chats/{c}/messages?limit=5", "/{p}/chats/{c}/messages/{m}",
    ],
)  # fmt: skip
async def test_the_control_api_answers_what_the_page_reads(client, world, path):
    for name, provider in world.providers.items():
        chat = provider.chats()[0]["id"]
        there = path.format(p=name, c=chat, m=provider.messages_of(chat)[0]["id"])

        assert (await client.get(f"/sandbox{there}")).status == 200


def test_the_page_does_only_deeds_that_the_control_api_knows():
    rest = SCRIPTS["composer.js"] + SCRIPTS["conversation.js"] + SCRIPTS["app.js"]
    verbs = set(re.findall(r"\bact\((?:\w+(?:\(\))?\.provider|provider), '(\w+)'", rest))

    assert {"writes", "posts", "edits", "presses", "starts"} <= verbs <= set(VERBS)
