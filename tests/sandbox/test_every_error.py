"""Each class of answer that delivery has to tell apart, ordered from either messenger and met on the wire."""

import json
import urllib.error
import urllib.request
from typing import Any

import pytest

from pressroom.sandbox.pytest_plugin import RunningSandbox

CUT = 0
LATE = -1


def send(sandbox: RunningSandbox, provider: str) -> tuple[int, dict[str, Any], str | None]:
    """Status, answer and Retry-After; CUT when the connection ended without an answer, LATE when none came in time."""
    if provider == "telegram":
        url, headers = f"{sandbox.telegram_url}/bot{sandbox.token}/sendMessage", {}
        body: dict[str, Any] = {"chat_id": sandbox.chat, "text": "x"}
    else:
        url = f"{sandbox.max_url}/messages?chat_id={sandbox.max_chat}"
        body, headers = {"text": "x"}, {"Authorization": sandbox.max_token}
    request = urllib.request.Request(
        url, data=json.dumps(body).encode(), headers={"Content-Type": "application/json", **headers}
    )
    try:
        with urllib.request.urlopen(request, timeout=0.5) as response:
            return response.status, json.load(response), None
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.load(error), error.headers.get("Retry-After")
    except TimeoutError:
        return LATE, {}, None
    except (OSError, ConnectionError):
        return CUT, {}, None


@pytest.mark.spec("AP-018")
@pytest.mark.parametrize("provider", ["telegram", "max"])
@pytest.mark.parametrize(
    ("fault", "status", "retry_after", "effects"),
    [
        (None, 200, None, 1),
        ({"kind": "fail", "code": 429, "retry_after": 7}, 429, "7", 0),
        ({"kind": "fail", "code": 429}, 429, None, 0),
        ({"kind": "fail", "code": 500}, 500, None, 0),
        ({"kind": "fail", "code": 502}, 502, None, 0),
        ({"kind": "fail", "code": 503}, 503, None, 0),
        ({"kind": "fail", "code": 400}, 400, None, 0),
        ({"kind": "fail", "code": 401}, 401, None, 0),
        ({"kind": "fail", "code": 403}, 403, None, 0),
        ({"kind": "fail", "code": 404}, 404, None, 0),
        ({"kind": "fail", "code": 502, "before_effect": False}, 502, None, 1),
        ({"kind": "slow", "seconds": 30, "before_effect": True}, LATE, None, 0),
        ({"kind": "slow", "seconds": 30, "before_effect": False}, LATE, None, 1),
        ({"kind": "drop", "before_effect": True}, CUT, None, 0),
        ({"kind": "drop", "before_effect": False}, CUT, None, 1),
    ],
)
def test_every_class_of_answer_can_be_ordered(pressroom_sandbox, provider, fault, status, retry_after, effects):
    if fault is not None:
        pressroom_sandbox.control.plan(provider=provider, **fault)

    answered, said, wait = send(pressroom_sandbox, provider)

    assert (answered, wait) == (status, retry_after)
    assert len(pressroom_sandbox.control.ledger(provider=provider)) == effects
    if status == 429 and provider == "telegram":
        assert said.get("parameters") == (None if retry_after is None else {"retry_after": 7})


@pytest.mark.spec("AP-018")
def test_max_is_not_ready_with_an_attachment_as_often_as_one_likes(pressroom_sandbox):
    pressroom_sandbox.max.fail_next(name="not_ready", times=2)

    answers = [send(pressroom_sandbox, "max") for _ in range(3)]

    assert [(status, said.get("code")) for status, said, _ in answers] == [
        (400, "attachment.not.ready"),
        (400, "attachment.not.ready"),
        (200, None),
    ]


@pytest.mark.parametrize("provider", ["telegram", "max"])
def test_every_error_that_has_a_name_can_be_ordered_by_it(pressroom_sandbox, provider):
    names = pressroom_sandbox.control.overview()["providers"][provider]["errors"]
    answers = {}
    for name in names:
        pressroom_sandbox.control.plan("fail", provider=provider, name=name)
        status, said, _ = send(pressroom_sandbox, provider)
        answers[name] = (status, said.get("description") or said.get("message"))

    assert len(answers) >= 8
    assert all(400 <= status <= 599 and text is not None for status, text in answers.values()), answers
    assert pressroom_sandbox.control.ledger() == []
