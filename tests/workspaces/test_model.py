"""Ids, secrets, descriptions and access: rules without a database."""

import re
from dataclasses import replace
from uuid import UUID

import pytest

from pressroom.core.errors import InvalidInput
from pressroom.core.ids import EVERY_WORKSPACE, WorkspaceId, uuid_v7
from pressroom.workspaces import model
from pressroom.workspaces.model import (
    API_PREFIX,
    OUR_SECRETS,
    PUSH_PREFIX,
    Access,
    Sealed,
    TokenId,
    Verb,
    checked_meta,
    checked_name,
    checked_secret_ref,
    hash_secret,
    looks_like_a_secret,
    new_secret,
    readable_id,
)

A, B = (WorkspaceId(uuid_v7()) for _ in range(2))
TELEGRAM_TOKEN = "110201543:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw"


def access(**verbs_by_name) -> Access:
    names = {"a": A, "b": B, "all": EVERY_WORKSPACE}
    return Access(TokenId("t"), {names[name]: frozenset(verbs) for name, verbs in verbs_by_name.items()})


@pytest.mark.parametrize("prefix", [PUSH_PREFIX, API_PREFIX])
def test_secrets_are_long_safe_in_urls_never_the_same_and_found_in_a_log_line(prefix):
    made = {new_secret(prefix) for _ in range(50)}

    assert len(made) == 50
    for secret in made:
        assert re.fullmatch(prefix + r"[A-Za-z0-9_-]{43}", secret)
        assert OUR_SECRETS.sub("…", f"POST /ingest/push/{secret} 202") == "POST /ingest/push/… 202"
        assert looks_like_a_secret(secret)


def test_a_hash_is_sha256_in_hex_also_of_what_is_no_text():
    assert hash_secret("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    assert re.fullmatch("[0-9a-f]{64}", hash_secret("\udcff"))


@pytest.mark.parametrize("text", ["a", "site.2", "News_EU:1-x", "x" * 100])
def test_readable_ids_are_taken_as_they_are(text):
    assert readable_id(text, "endpoint_id") == text


@pytest.mark.parametrize("text", ["", "x" * 101, "a b", "a/b", "ä", "a\n", "a\0", "{}"])
def test_other_ids_are_refused_by_field_with_a_fix(text):
    with pytest.raises(InvalidInput) as refused:
        readable_id(text, "endpoint_id")

    assert refused.value.field == "endpoint_id"
    assert refused.value.message.startswith("endpoint_id must be")
    assert refused.value.hint


@pytest.mark.parametrize("name", ["", "  ", "x" * 201, "two\nlines", "zero\0"])
def test_a_name_is_one_printable_line(name):
    with pytest.raises(InvalidInput) as refused:
        checked_name(name)

    assert refused.value.field == "name"


def test_a_name_loses_the_space_around_it():
    assert checked_name("  Новости  ") == "Новости"


@pytest.mark.parametrize(
    ("meta", "field"),
    [
        ({"secret": "x"}, "meta.secret"),
        ({"auth": {"api_key": "x"}}, "meta.auth.api_key"),
        ({"list": [{"Bot-Token": 1}]}, "meta.list[0].Bot-Token"),
        ({"password": {}}, "meta.password"),
        ({"note": f"use {TELEGRAM_TOKEN}"}, "meta.note"),
        ({"notes": ["prs_push_" + "a" * 43]}, "meta.notes[0]"),
    ],
)
def test_meta_that_is_named_or_looks_like_a_secret_is_refused_without_quoting_it(meta, field):
    with pytest.raises(InvalidInput) as refused:
        checked_meta(meta)

    assert refused.value.field == field
    assert "AAHdq" not in f"{refused.value.message} {refused.value.hint}"
    assert "prs_push_a" not in f"{refused.value.message} {refused.value.hint}"


def test_meta_that_describes_is_taken():
    meta = {"title": "Token gate opening, 2026", "owner": {"team": "news"}, "tags": ["a", 1, None, True]}

    assert checked_meta(meta) == meta


@pytest.mark.parametrize(
    "secret_ref", ["env:TELEGRAM_NEWS_TOKEN", "env:_X", "file:/run/secrets/telegram-news", "file:/a b"]
)
def test_a_reference_names_a_variable_or_a_file(secret_ref):
    assert checked_secret_ref(secret_ref) == secret_ref


@pytest.mark.parametrize(
    "secret_ref",
    [
        "",
        TELEGRAM_TOKEN,
        f"env:{TELEGRAM_TOKEN}",
        f"file:/{TELEGRAM_TOKEN}",
        "env:f9LHodD0cOLx7Zq2pTn5VbK8sWm3YrJ6uXe1Ag",
        "f9LHodD0cOLx7Zq2pTn5VbK8sWm3YrJ6uXe1Ag",
        "sealed:telegram/news",
        "env:lower",
        "env:",
        "env:9A",
        "env:PRESSROOM_SECRET_KEYS",
        "file:relative",
        "file:/a/../secret",
        "file:/data/secret.keys",
        "file:/a\nb",
        "file:/" + "x" * 1000,
        "vault:x",
    ],
)
def test_a_reference_that_is_a_secret_or_leads_elsewhere_is_refused_without_quoting_it(secret_ref):
    with pytest.raises(InvalidInput) as refused:
        checked_secret_ref(secret_ref)

    assert refused.value.field == "secret_ref"
    assert refused.value.hint
    assert len(secret_ref) < 12 or secret_ref not in f"{refused.value.message} {refused.value.hint}"


@pytest.mark.parametrize("verb", Verb)
def test_a_verb_allows_itself_in_its_workspace_and_nothing_else(verb):
    granted = access(a=[verb])

    assert {other for other in Verb if granted.allows(A, other)} == (
        set(Verb) if verb is Verb.ADMIN else {verb}
    )
    assert not any(granted.allows(B, other) for other in Verb)
    assert not any(granted.allows(EVERY_WORKSPACE, other) for other in Verb)


def test_a_token_for_all_opens_each_workspace_beside_what_it_names():
    granted = access(all=[Verb.READ], a=[Verb.WRITE])

    assert (granted.allows(A, Verb.READ), granted.allows(A, Verb.WRITE)) == (True, True)
    assert (granted.allows(B, Verb.READ), granted.allows(B, Verb.WRITE)) == (True, False)
    assert granted.allows(EVERY_WORKSPACE, Verb.READ)
    assert (granted.everywhere, granted.workspaces) == (True, {A})


@pytest.mark.parametrize(
    ("granted", "only"),
    [
        (access(a=[Verb.READ]), A),
        (access(a=[Verb.READ], b=[Verb.READ]), None),
        (access(all=[Verb.READ]), None),
        (access(all=[Verb.READ], a=[Verb.READ]), None),
        (access(), None),
    ],
)
def test_only_a_token_of_one_workspace_means_it_without_a_name(granted, only):
    assert granted.only_workspace() == only


def test_no_repr_shows_a_ciphertext():
    sealed = Sealed("k1", b"nonce", b"ciphertext")

    assert "ciphertext" not in repr(replace(sealed, key_id="k2"))


def test_the_nil_uuid_is_the_one_of_every_workspace():
    assert UUID(int=0) == EVERY_WORKSPACE


def test_the_longest_secret_that_is_looked_up_is_longer_than_ours():
    assert len(new_secret(PUSH_PREFIX)) < model.LONGEST_SECRET
