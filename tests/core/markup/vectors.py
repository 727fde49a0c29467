"""What the real parser answered to inputs that we wrote: measured once with tdjson 1.8.69, and stored."""

import json
from pathlib import Path
from typing import Any

CASES: list[dict[str, Any]] = json.loads(
    Path(__file__).with_name("telegram_entity_vectors.json").read_text("utf-8")
)["cases"]


def inputs_of(mode: str) -> list[str]:
    return [case["input"] for case in CASES if case["mode"] == mode]


def answer_of(case: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in case.items() if name not in ("mode", "input")}
