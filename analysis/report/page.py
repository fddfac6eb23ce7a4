"""The page of one run."""

from typing import Any

import msgspec
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from plotly.offline import get_plotlyjs

from analysis.facts.load import Trace
from analysis.report.commands import pasted
from analysis.report.first_screen import expected_line, reasons, verdict_line
from analysis.report.stories import Standing, anchor, findings_of, where
from analysis.report.style_cells import columns, lines
from analysis.report.timeline import timeline
from analysis.report.times import told_timing
from analysis.verdict.styles import said_epochs
from contract.checks import Check
from contract.run_folder import RunDescription, RunFolder
from contract.tables import MICROS_PER_SECOND
from contract.verdicts import (
    CheckResult,
    CheckVerdict,
    UnexpectedFindings,
    Verdict,
    several_partitions,
)

UNEXPECTED_MAX = 5
"""Of the cards on the first screen."""
ROWS_MAX = 100
"""Of a table; a run has at most some dozens of each, unless it is long."""


def environment() -> Environment:
    """Templates with every value escaped, and unknown names an error."""
    return Environment(
        loader=PackageLoader("analysis.report", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def write_report(folder: RunFolder, verdict: Verdict, trace: Trace) -> None:
    """Write `report/index.html`: one file that needs nothing else."""
    (folder.report / "index.html").write_text(page(folder, verdict, timeline(trace)))


def page(folder: RunFolder, verdict: Verdict, figure: str) -> str:
    """The page's text.

    Args:
        folder: the run's.
        verdict: with its answer.
        figure: the timeline as HTML; empty without one.
    """
    plan, run = folder.plan(), folder.run()
    asked, _, rest = plan.question.partition("\n")
    found = findings_of(folder, verdict)
    labels = {group.group: group.labels for group in plan.groups}
    unexpected = [_card(one) for one in verdict.unexpected]
    idle = _idle(verdict)
    return (
        environment()
        .get_template("run.html.j2")
        .render(
            verdict=verdict,
            run=run,
            asked=asked,
            question=rest.strip(),
            seconds=_seconds(run),
            expected_line=expected_line(verdict),
            verdict_line=verdict_line(verdict),
            unexpected=unexpected[:UNEXPECTED_MAX],
            unexpected_count=sum(one.findings for one in verdict.unexpected),
            unexpected_left=max(0, len(unexpected) - UNEXPECTED_MAX),
            reasons=list(reasons(verdict, run)),
            style_columns=columns(verdict.styles),
            styles=lines(verdict.styles),
            by_standing={str(one): found.checks[one] for one in Standing},
            origin=found.origin,
            undecided=_with(verdict, CheckVerdict.UNDECIDED),
            holds=_with(verdict, CheckVerdict.HOLDS),
            idle=idle,
            idle_count=sum(len(names) for _, names in idle),
            resumption=verdict.resumption if Check.RESUMPTION in verdict.must_judge else [],
            epochs_known=said_epochs(verdict.resumption),
            several=several_partitions(verdict.resumption),
            labels=labels,
            label_names=sorted({name for label in labels.values() for name in label}),
            versions=_versions(run),
            timing=told_timing(verdict.timing) if verdict.timing else "",
            rerun=pasted(verdict.rerun),
            rows_max=ROWS_MAX,
            trees=[],
            trees_left=0,
            as_json=_as_json,
            # Both come from plotly, which escapes what it is given.
            figure=Markup(figure),  # noqa: S704
            plotly=Markup(f"<script>{get_plotlyjs()}</script>" if figure else ""),  # noqa: S704
        )
    )


def _card(one: UnexpectedFindings) -> dict[str, Any]:
    return {
        "check": one.check,
        "findings": one.findings,
        "anchor": anchor(one.check, one.number),
        "cause": one.first.cause,
        "where": where(one.first),
    }


def _with(verdict: Verdict, which: CheckVerdict) -> list[tuple[str, CheckResult]]:
    return [(name, one) for name, one in verdict.checks.items() if one.verdict is which]


def _idle(verdict: Verdict) -> list[tuple[str, list[str]]]:
    """The checks that had nothing to judge, by the reason."""
    by_reason: dict[str, list[str]] = {}
    for name, result in _with(verdict, CheckVerdict.NOT_EVALUABLE):
        by_reason.setdefault(result.reason, []).append(name)
    return sorted(by_reason.items(), key=lambda one: -len(one[1]))


def _versions(run: RunDescription) -> list[tuple[str, str]]:
    clients = {f"client {name}": version for name, version in run.clients.items()}
    own = {"Kafka": run.kafka, "git": run.git_head, "pool": run.cluster, "seed": str(run.seed)}
    return list((own | clients | run.versions | {"command": run.command}).items())


def _seconds(run: RunDescription) -> str:
    if run.ended_micros is None:
        return "did not end"
    return f"{(run.ended_micros - run.started_micros) / MICROS_PER_SECOND:.0f} s"


def _as_json(value: Any) -> str:
    return msgspec.json.format(msgspec.json.encode(value), indent=1).decode()
