"""The runs of a session or night as rows of its page."""

import os
from dataclasses import dataclass
from pathlib import Path

from analysis.report.commands import command_to_paste
from analysis.report.first_screen import expected_line, reasons
from analysis.report.matrix import Run, row_name
from analysis.report.night_rows import Judged
from analysis.report.run_output import NOT_JUDGED
from analysis.report.stories import anchor
from contract.errors import RunFolderError
from contract.program import escape_orders
from contract.run_folder import Plan, RunDescription
from contract.verdicts import FindingVerdict, Verdict

RUNS_MAX = 120
"""Of a page's table; `summary.json` has all."""
CARDS_MAX = 20
"""Of the runs at the head of a page."""


@dataclass(frozen=True)
class Unexpected:
    """An unexpected finding of a run, with the place of its story."""

    check: str
    findings: int
    cause: str
    group: str
    link: str


@dataclass(frozen=True)
class RunRow:
    """A run on the page of a session or night.

    Attributes:
        name: its scenario and parameters; its folder where it could not be judged.
        link: to its page; empty without one.
        answer: to the scenario's question.
        verdict: in one word.
        expected: how many expectations were met, in words.
        unexpected: what is unexpected.
        open: why it is undecided.
        permitted: the number of findings by check that the configuration permits.
        seconds: how long it took; None where it is not known.
    """

    name: str
    link: str
    answer: str
    verdict: str
    kafka: str
    seed: str
    expected: str
    unexpected: list[Unexpected]
    open: list[str]
    permitted: dict[str, int]
    seconds: float | None
    rerun: str


def run_row(judged: Judged, page: Path) -> RunRow:
    """A run's row; one that can't be judged is undecided, and says why.

    Args:
        judged: the run.
        page: the folder of the page, from which links lead.
    """
    link = os.path.relpath(judged.folder.report / "index.html", page)
    if judged.verdict is None:
        return _row_without_verdict(judged, page)
    verdict = judged.verdict
    run = judged.folder.run()
    return RunRow(
        name=row_name(verdict.scenario, verdict.parameters),
        link=link,
        answer=verdict.answer,
        verdict=str(verdict.verdict),
        kafka=verdict.on,
        seed=str(verdict.seed),
        expected=expected_line(verdict),
        unexpected=[
            Unexpected(
                check=found.check,
                findings=found.findings,
                cause=found.first.cause,
                group=found.group or "",
                link=f"{link}#{anchor(found.check, found.number)}",
            )
            for found in verdict.unexpected
        ],
        open=[reason.text for reason in reasons(verdict, run)],
        permitted=_count_permitted(verdict),
        seconds=_seconds(run),
        rerun=command_to_paste(verdict.rerun),
    )


def run_of(judged: Judged, row: RunRow, *, must_fail: bool = False, is_known: bool = False) -> Run:
    """A run's place in the matrix, from its row; `must_fail` and `is_known` as there."""
    plan, run = _descriptions_of(judged)
    kafka = row.kafka or (run.on if run else "unknown")
    return Run(
        name=row.name,
        kafka=kafka,
        link=row.link,
        plan=plan,
        verdict=judged.verdict,
        must_fail=must_fail,
        is_known=is_known,
    )


def _descriptions_of(judged: Judged) -> tuple[Plan | None, RunDescription | None]:
    try:
        return judged.folder.plan(), judged.folder.run()
    except RunFolderError:
        return None, None


def _row_without_verdict(judged: Judged, page: Path) -> RunRow:
    _, run = _descriptions_of(judged)
    return RunRow(
        name=escape_orders(os.path.relpath(judged.folder.path, page.parent)),
        link="",
        answer="",
        verdict="undecided",
        kafka=run.on if run else "",
        seed=str(run.seed) if run else "",
        expected="",
        unexpected=[],
        open=[judged.error or NOT_JUDGED],
        permitted={},
        seconds=_seconds(run) if run else None,
        rerun=command_to_paste(run.rerun) if run else "",
    )


def _count_permitted(verdict: Verdict) -> dict[str, int]:
    counted = {
        name: result.by_verdict.get(FindingVerdict.PERMITTED, 0)
        for name, result in verdict.checks.items()
    }
    return {name: number for name, number in counted.items() if number}


def _seconds(run: RunDescription) -> float | None:
    return None if run.seconds is None else round(run.seconds, 1)
