"""How findings are shown, by `doctor` and `config check` alike: every check, and what to do about the bad ones."""

from collections.abc import Sequence

import typer

from pressroom.entrypoints.cli.output import Part, Table, Tone, Toned, answer
from pressroom.ops.doctor import Finding, Severity

TONES = {
    Severity.OK: Tone.GOOD,
    Severity.NOTE: Tone.QUIET,
    Severity.WARNING: Tone.WARNING,
    Severity.ERROR: Tone.BAD,
}


def show(findings: Sequence[Finding], as_json: bool) -> None:
    """Exit code 1 when there is an error among them."""
    errors = sum(one.severity is Severity.ERROR for one in findings)
    warnings = sum(one.severity is Severity.WARNING for one in findings)
    rows = [(Toned(one.severity, TONES[one.severity]), one.where, _said(one)) for one in findings]
    counted = f"{errors} error{'s' * (errors != 1)}, {warnings} warning{'s' * (warnings != 1)}."
    verdict: Part = Toned(counted, Tone.BAD if errors else Tone.WARNING)
    if not errors and not warnings:
        verdict = Toned("All is well.", Tone.GOOD)
    answer(as_json, {"ok": not errors, "findings": findings}, Table(("", "Where", "What"), rows), verdict)
    if errors:
        raise typer.Exit(1)


def _said(finding: Finding) -> str:
    return finding.what if finding.fix is None else f"{finding.what}\nfix: {finding.fix}"
