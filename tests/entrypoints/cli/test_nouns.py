"""Every noun, every verb, for people and for programs."""

import json
import stat

import pytest

from tests.entrypoints.cli.conftest import Cli, Said


def both(cli: Cli, *words: object) -> tuple[Said, Said]:
    """The same for people and for programs; both must succeed and only print their answer."""
    people, programs = cli(*words), cli(*words, "--json")
    assert (people.code, programs.code) == (0, 0), people.err + programs.err
    assert people.out.strip()
    assert "\x1b" not in people.out
    return people, programs


# -- workspaces


def test_workspaces_are_listed_with_the_example_first(cli):
    people, programs = both(cli, "workspace", "list")

    assert people.out.splitlines()[0].split() == ["Name", "Status", "Id", "Created"]
    assert programs.json[0]["name"] == "Example"
    assert programs.json[0]["workspace_id"] == "00000000-0000-7000-8000-000000000001"


def test_a_workspace_is_found_by_name_and_by_id(cli):
    by_name = cli("workspace", "show", "Example", "--json").json
    by_id = cli("workspace", "show", by_name["workspace_id"], "--json").json
    people = cli("workspace", "show", "Example")

    assert by_name == by_id
    assert by_name["workspace_id"] in people.out


def test_a_workspace_is_made_renamed_paused_resumed_and_disabled(cli, name):
    made = cli("workspace", "create", f"{name} Вести", "--json").json
    renamed = cli("workspace", "rename", f"{name} Вести", name, "--json").json
    statuses = [
        cli("workspace", verb, name, "--json").json["status"] for verb in ("pause", "resume", "disable")
    ]
    people = cli("workspace", "resume", name)

    assert (made["status"], renamed["name"]) == ("active", name)
    assert renamed["workspace_id"] == made["workspace_id"]
    assert statuses == ["paused", "active", "disabled"]
    assert "active" in people.out


def test_an_ambiguous_name_is_refused_and_the_ids_are_named(cli, name):
    ids = [cli("workspace", "create", name, "--json").json["workspace_id"] for _ in range(2)]

    said = cli("endpoint", "list", "--workspace", name)

    assert said.code == 4
    assert all(one in said.err for one in ids)


# -- endpoints


def test_an_endpoint_shows_its_secret_when_it_is_made_and_never_again(cli, name):
    made = cli("endpoint", "create", name, "--title", "The shop", "--rate", "2.5", "--json")
    rotated = cli("endpoint", "rotate", name, "--json")
    successor = rotated.json["endpoint_id"]
    later = [
        cli("endpoint", "list").out,
        cli("endpoint", "list", "--json").out,
        cli("endpoint", "disable", successor).out,
        cli("endpoint", "enable", successor, "--json").out,
    ]

    assert made.json["secret"].startswith("prs_push_")
    assert made.json["ingress_rps"] == 2.5
    assert rotated.json["secret"] not in (made.json["secret"], None)
    assert "this once" in made.err
    assert all(secret not in text for text in later for secret in (made.json["secret"], rotated.json["secret"]))
    states = {row["endpoint_id"]: row["enabled"] for row in json.loads(later[1])}
    assert (states[name], states[successor]) == (False, True)


def test_a_person_sees_the_secret_of_a_new_endpoint_too(cli, name):
    said = cli("endpoint", "create", name)

    assert "prs_push_" in said.out
    assert "example-push" in cli("endpoint", "list").out


# -- tokens


def test_a_token_shows_its_secret_when_it_is_made_and_never_again(cli, name):
    made = cli("token", "create", name, "--verb", "read", "--verb", "operate", "--expires", "30d", "--json")
    listed = both(cli, "token", "list")
    revoked = cli("token", "revoke", name, "--json")
    people = cli("token", "revoke", name)

    assert made.json["secret"].startswith("prs_api_")
    assert made.json["verbs"] == ["operate", "read"]
    assert made.json["expires_at"] is not None
    assert revoked.json["revoked_at"] is not None
    assert "revoked" in people.out
    assert all(made.json["secret"] not in said.out for said in (*listed, revoked, people))


def test_a_token_opens_the_workspaces_that_are_named_or_all(cli, name):
    other = cli("workspace", "create", name, "--json").json["workspace_id"]

    named = cli("token", "create", f"{name}-1", "--verb", "read", "-w", name, "--json").json
    everywhere = cli("token", "create", f"{name}-2", "--verb", "admin", "--all-workspaces", "--json").json
    refused = cli("token", "create", f"{name}-3", "--verb", "read", "--all-workspaces", "-w", name)

    assert named["workspaces"] == [other]
    assert everywhere["workspaces"] == "all"
    assert refused.code == 2


@pytest.mark.parametrize("life", ["0d", "soon", "-1d", "9999999d", "1y"])
def test_a_life_that_is_none_is_refused(cli, name, life):
    said = cli("token", "create", name, "--verb", "read", "--expires", life)

    assert (said.code, said.out) == (2, "")


# -- credentials

SECRET = "123456789:AAExampleExampleExampleExampleExampl"


def test_a_credential_comes_from_standard_input_and_is_never_printed(cli, name):
    bound = cli("credential", "set", name, "--json", stdin=SECRET + "\n")
    people = cli("credential", "set", name, "--platform", "max", stdin=SECRET)
    listed = both(cli, "credential", "list")
    checked = both(cli, "credential", "check")
    removed = cli("credential", "unset", name, "--json")
    again = cli("credential", "unset", name)

    assert bound.json["secret_ref"] == f"sealed:telegram/{name}"
    assert {"auth_ref": name, "problem": None}.items() <= next(
        row for row in listed[1].json if row["auth_ref"] == name and row["platform"] == "telegram"
    ).items()
    assert removed.json == {"auth_ref": name, "platform": "telegram", "removed": True}
    assert again.code == 3
    for said in (bound, people, *listed, *checked, removed, again):
        assert SECRET not in said.out + said.err


def test_a_credential_that_does_not_open_fails_the_check(cli, name):
    cli("workspace", "create", name)
    cli("credential", "set", "bot", "--at", "env:NO_SUCH_VARIABLE", "-w", name)

    people = cli("credential", "check", "-w", name)
    programs = cli("credential", "check", "-w", name, "--json")

    assert (people.code, programs.code) == (1, 1)
    assert "NO_SUCH_VARIABLE" in people.out
    assert "NO_SUCH_VARIABLE" in programs.json[0]["problem"]


def test_no_secret_on_standard_input_is_refused(cli, name):
    said = cli("credential", "set", name)

    assert (said.code, said.out) == (2, "")
    assert "standard input" in said.err


def test_a_secret_in_the_place_of_a_reference_is_refused_and_not_repeated(cli, name):
    said = cli("credential", "set", name, "--at", SECRET)

    assert said.code == 2
    assert SECRET not in said.out + said.err


def test_after_a_new_key_everything_can_be_sealed_under_it(cli, folder):
    keys = folder / "secret.keys"
    before = keys.read_text()
    new = cli("credential", "new-key").out.strip()
    try:
        keys.write_text(new + "\n" + before)

        first, second = cli("credential", "reseal", "--json").json, cli("credential", "reseal")
        keys.write_text(new + "\n")

        assert first["resealed"] >= 2
        assert first["unopened"] == []
        assert second.out.startswith("0 resealed")
        assert cli("credential", "check", "--json").code == 0
        assert stat.S_IMODE(keys.stat().st_mode) == 0o600
    finally:
        keys.write_text(new + "\n" + before)


# -- settings


def test_each_setting_is_shown_with_its_source_and_no_secret(cli, monkeypatch, folder):
    key = cli("credential", "new-key", "--json").json["key"]
    monkeypatch.setenv("PRESSROOM_SECRET_KEYS", key)
    monkeypatch.setenv("PRESSROOM_DATABASE_URL", "postgresql://me:hidden-word@db.example/pressroom")
    monkeypatch.setenv("PRESSROOM_HEALTH_CHECK_TOKEN", "hidden-token")
    monkeypatch.setenv("PRESSROOM_API_PORT", "9000")

    people, programs = both(cli, "config", "show")

    settings = {row["name"]: row for row in programs.json}
    assert settings["PRESSROOM_API_PORT"]["value"] == 9000
    assert settings["PRESSROOM_API_PORT"]["source"] == "environment"
    assert settings["PRESSROOM_API_HOST"]["source"] == "default"
    assert settings["PRESSROOM_DATABASE_URL"]["value"] == "postgresql://me:***@db.example/pressroom"
    assert settings["PRESSROOM_SECRET_KEYS"]["value"] == "***"
    assert all(row["description"] for row in settings.values())
    for said in (people, programs):
        assert not any(secret in said.out for secret in ("hidden-word", "hidden-token", key))


def test_the_data_folder_of_the_command_line_is_shown_as_such(anywhere, tmp_path):
    shown = anywhere("config", "show", "--data", tmp_path, "--json").json

    assert shown[0] == {**shown[0], "name": "PRESSROOM_DATA", "value": str(tmp_path), "source": "--data"}


def test_the_settings_are_checked_without_starting_anything(anywhere, tmp_path, monkeypatch):
    for port in ("API", "SANDBOX_TELEGRAM", "SANDBOX_MAX", "SANDBOX_WINDOW"):
        monkeypatch.setenv(
            f"PRESSROOM_{port}_PORT", "0"
        )  # the usual ones may be taken, by a running `up` for one
    people, programs = both(anywhere, "config", "check", "--data", tmp_path / "new")

    assert "All is well." in people.out
    assert programs.json["ok"] is True
    assert {row["where"] for row in programs.json["findings"]} >= {
        "settings",
        "keys",
        "database",
        "disk",
        "plugs",
    }
    assert not (tmp_path / "new").exists()


def test_a_wrong_setting_is_a_finding(anywhere, monkeypatch):
    monkeypatch.setenv("PRESSROOM_API_PORT", "70000")

    said = anywhere("config", "check", "--json")

    assert said.code == 1
    assert said.json["findings"][0]["severity"] == "error"
    assert "PRESSROOM_API_PORT" in said.json["findings"][0]["what"]


def test_keys_that_are_missing_beside_an_own_server_are_a_finding(anywhere, monkeypatch, server):
    monkeypatch.setenv("PRESSROOM_DATABASE_URL", server)

    said = anywhere("config", "check", "--json")

    assert said.code == 1
    assert next(row["where"] for row in said.json["findings"] if row["severity"] == "error") == "keys"
