"""The Markdown summary of runs, e.g. for the job summary of a CI system (docs/outputs.md)."""

from collections.abc import Iterable, Iterator, Sequence

from analysis.report.first_screen import expected_line, reasons
from analysis.report.run_output import RunOutput
from analysis.report.stories import where
from analysis.report.words import duration, with_noun
from contract.markdown import plain, table
from contract.nights import Outcome
from contract.verdicts import UnexpectedFindings, Verdict

_SIGNS = {Outcome.EXPECTED: "✅", Outcome.UNEXPECTED: "❌", Outcome.UNDECIDED: "⚠️"}


def markdown(title: str, outputs: Sequence[RunOutput]) -> str:
    """A table of the runs, what follows from them, and what is unexpected or open in each.

    Args:
        title: of the summary: a session, a night, or a scenario.
        outputs: its runs.
    """
    counts = {outcome: sum(one.outcome is outcome for one in outputs) for outcome in Outcome}
    counted = ", ".join(f"{count} {outcome}" for outcome, count in counts.items() if count)
    lines = [
        f"# Fencepost: {plain(title)}",
        "",
        f"{with_noun(len(outputs), 'run')}: {counted}.",
        "",
        table(["", "run", "verdict", "answer", "expected", "time"], map(_cells, outputs)),
    ]
    lines += _follows(outputs)
    for one in outputs:
        lines += _details(one)
    return "\n".join(lines) + "\n"


def _follows(outputs: Iterable[RunOutput]) -> list[str]:
    """What follows from the runs, a line each; equal ones once."""
    reported = [
        f"- **{plain(one.scenario)}**: {plain(str(one.verdict.follows))}"
        for one in outputs
        if one.verdict is not None and one.verdict.follows is not None
    ]
    return ["", "## What follows", "", *dict.fromkeys(reported)] if reported else []


def _cells(one: RunOutput) -> Iterator[str]:
    yield _SIGNS[one.outcome]
    yield plain(one.name)
    yield str(one.word) if one.expect == "pass" else f"{one.word} (the suite expects {one.expect})"
    yield plain(one.verdict.answer if one.verdict else one.error or "")
    yield plain(expected_line(one.verdict)) if one.verdict else ""
    yield duration(one.seconds)


def _details(one: RunOutput) -> Iterable[str]:
    """What is unexpected and open in a run; nothing for one that is as expected."""
    if one.outcome is Outcome.EXPECTED:
        return []
    lines = ["", f"## {plain(one.name)}", ""]
    if one.verdict is not None:
        lines += [f"- {text}" for text in _open(one, one.verdict)]
    if one.error is not None:
        lines.append(f"- error: {plain(one.error.strip().partition(chr(10))[0])}")
    if one.rerun:
        lines += ["", "```", one.rerun.replace("```", ""), "```"]
    return lines


def _open(one: RunOutput, verdict: Verdict) -> Iterator[str]:
    for found in verdict.unexpected:
        yield f"**{plain(found.check)}**, {_first(found)}"
    if one.run is not None:
        for reason in reasons(verdict, one.run):
            yield f"undecided: {plain(reason.text)}"


def _first(found: UnexpectedFindings) -> str:
    place = where(found.first)
    reported = f"{with_noun(found.findings, 'unexpected finding')}: {plain(found.first.cause)}"
    return f"{reported} ({plain(place)})" if place else reported
