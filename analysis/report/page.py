"""The page of one run."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
from markupsafe import Markup

from analysis.report.commands import command_to_paste
from analysis.report.first_screen import expected_line, failed_clients, reasons, verdict_line
from analysis.report.pictures.timeline import timeline
from analysis.report.pictures.tree import LogTree, log_trees
from analysis.report.plotly_script import script_tag, shared_script
from analysis.report.run_facts import RunFacts
from analysis.report.standings import Standing
from analysis.report.stories import UNEXPECTED_MAX, anchor, findings_of, where
from analysis.report.templating import environment
from analysis.report.words import times_of, with_noun
from analysis.verdict.resumption import IN_WORDS, said_epochs
from contract.files import replace_text
from contract.run_folder import STACKS_FOLDER, RunDescription
from contract.tables import MICROS_PER_SECOND
from contract.terms import Check
from contract.verdicts import (
    CheckResult,
    CheckVerdict,
    StyleRow,
    UnexpectedFindings,
    Verdict,
    several_partitions,
)

ROWS_MAX = 100
"""Of a table; a run has at most some dozens of each, unless it is long."""


@dataclass(frozen=True)
class Pictures:
    """What a page shows as pictures; their makers escape all that a run has.

    Attributes:
        timeline: HTML that plotly draws; empty without one.
        plotly: the tag that loads its script.
        trees: of the partitions whose logs have branches.
        trees_left: the number of partitions that have none.
    """

    timeline: str = ""
    plotly: str = ""
    trees: Sequence[LogTree] = ()
    trees_left: int = 0


def write_report(facts: RunFacts, verdict: Verdict) -> None:
    """Write `report/index.html`, and beside it or above what several pages share."""
    folder = facts.folder
    file = folder.report / "index.html"
    figure = timeline(facts, verdict)
    trees, left = log_trees(facts, verdict)
    pictures = Pictures(
        timeline=figure,
        plotly=script_tag(file, shared_script(folder)) if figure else "",
        trees=trees,
        trees_left=left,
    )
    text = page(facts, verdict, pictures)
    replace_text(file, text)


def page(facts: RunFacts, verdict: Verdict, pictures: Pictures) -> str:
    """The page's text."""
    plan, run = facts.folder.plan(), facts.folder.run()
    asked, _, rest = plan.question.partition("\n")
    labels = {group.group: group.labels for group in plan.groups}
    unexpected = [_card(entry) for entry in verdict.unexpected]
    idle = _idle(verdict)
    found = findings_of(facts, verdict)
    return (
        environment()
        .get_template("run.html.j2")
        .render(
            verdict=verdict,
            run=run,
            stacks=sorted(path.name for path in (facts.folder.path / STACKS_FOLDER).glob("*.txt")),
            stacks_folder=STACKS_FOLDER,
            planned={
                "topics": plan.topics,
                "producers": plan.producers,
                "groups": plan.groups,
            },
            asked=asked,
            question=rest.strip(),
            seconds=_seconds(run),
            undecided=_with(verdict, CheckVerdict.UNDECIDED),
            holds=_with(verdict, CheckVerdict.HOLDS),
            idle=idle,
            idle_count=sum(len(names) for _, names in idle),
            versions=_versions(run, verdict),
            has_branches=_has_branches(verdict),
            style_columns=columns(verdict.styles),
            styles=lines(verdict.styles),
            expected_line=expected_line(verdict),
            verdict_line=verdict_line(verdict),
            unexpected=unexpected[:UNEXPECTED_MAX],
            unexpected_count=sum(entry.findings for entry in verdict.unexpected),
            unexpected_left=max(0, len(unexpected) - UNEXPECTED_MAX),
            reasons=list(reasons(verdict, run)),
            failed_clients=failed_clients(verdict),
            by_standing={str(standing): found.checks[standing] for standing in Standing},
            origin=found.origin,
            notes=[
                (f"{(note.at_micros - facts.zero_micros) / MICROS_PER_SECOND:+.3f} s", note.text)
                for note in verdict.notes
            ],
            resumption=verdict.resumption if Check.RESUMPTION in verdict.must_judge else [],
            epochs_known=said_epochs(verdict.resumption),
            several=several_partitions(verdict.resumption),
            labels=labels,
            label_names=sorted({name for label in labels.values() for name in label}),
            times=times_of(verdict),
            rerun=command_to_paste(verdict.rerun),
            rows_max=ROWS_MAX,
            trees=pictures.trees,
            trees_left=pictures.trees_left,
            as_json=_as_json,
            figure=Markup(pictures.timeline),  # noqa: S704 - see Pictures
            plotly=Markup(pictures.plotly),  # noqa: S704 - see Pictures
        )
    )


def _has_branches(verdict: Verdict) -> bool:
    """Whether a log has a branch that did not survive: its picture then comes first."""
    estimated = verdict.checks.get(Check.LOSS_ESTIMATE)
    return estimated is not None and estimated.findings > 0


def _card(unexpected: UnexpectedFindings) -> dict[str, Any]:
    return {
        "check": unexpected.check,
        "findings": unexpected.findings,
        "anchor": anchor(unexpected.check, unexpected.number),
        "cause": unexpected.first.cause,
        "where": where(unexpected.first),
    }


def _with(verdict: Verdict, which: CheckVerdict) -> list[tuple[str, CheckResult]]:
    return [(name, result) for name, result in verdict.checks.items() if result.verdict is which]


def _idle(verdict: Verdict) -> list[tuple[str, list[str]]]:
    """The checks that had nothing to judge, by the reason."""
    by_reason: dict[str, list[str]] = {}
    for name, result in _with(verdict, CheckVerdict.NOT_EVALUABLE):
        by_reason.setdefault(result.reason, []).append(name)
    return sorted(by_reason.items(), key=lambda pair: -len(pair[1]))


def _versions(run: RunDescription, verdict: Verdict) -> list[tuple[str, str]]:
    judging = verdict.judging
    judged = {} if judging is None else {"judged by": f"{judging.engine}: {judging.why}"}
    clients = {f"client {name}": version for name, version in run.clients.items()}
    own = {
        "Kafka": run.kafka,
        **_build(run),
        **({"scenario": run.file} if run.file else {}),
        "git": run.git_head,
        "pool": run.cluster,
        "seed": str(run.seed),
    }
    return list((own | clients | run.versions | judged | {"command": run.command}).items())


def _build(run: RunDescription) -> dict[str, str]:
    """The own jars of a run, by their purpose."""
    if run.build is None:
        return {}
    jars = {
        "servers' own jars": run.build.server_jars,
        "Java clients' first jars": run.build.client_jars,
    }
    shown = {
        name: "; ".join(f"{jar.path} {jar.sha256}" for jar in own)
        for name, own in jars.items()
        if own
    }
    if run.build.choice.is_own:
        observer = run.build.observer
        shown["observer's jars"] = f"Kafka {observer}" if observer else "those of the servers"
    return shown


def _seconds(run: RunDescription) -> str:
    if run.ended_micros is None:
        return "did not end"
    return f"{(run.ended_micros - run.started_micros) / MICROS_PER_SECOND:.0f} s"


def _as_json(value: Any) -> str:
    return msgspec.json.format(msgspec.json.encode(value), indent=1).decode()


# The commit styles in one small table: a row for each style, a column for each label.


@dataclass(frozen=True)
class Cell:
    """How groups of one style and label continued, each way with its count of groups."""

    ways: list[str]
    has_skipped: bool


@dataclass(frozen=True)
class StyleLine:
    """A style, what it commits in words, the epochs that it committed, and a cell per column."""

    style: str
    commits: str
    epochs: str
    cells: list[Cell]


def columns(rows: list[StyleRow]) -> list[str]:
    """The labels of the groups, e.g. `log_end above`, in their order."""
    return sorted({_label(row) for row in rows})


def lines(rows: list[StyleRow]) -> list[StyleLine]:
    """A line for each style, in the order of the rows."""
    labels = columns(rows)
    made = []
    for epoch in dict.fromkeys(row.commit_epoch for row in rows):
        own = [row for row in rows if row.commit_epoch == epoch]
        known = {row.committed_epoch for row in own if row.committed_epoch is not None}
        epochs = sorted(known)
        made.append(
            StyleLine(
                style=epoch,
                commits=IN_WORDS[epoch],
                epochs=", ".join("none" if epoch < 0 else str(epoch) for epoch in epochs),
                cells=[_cell([row for row in own if _label(row) == label]) for label in labels],
            )
        )
    return made


def _label(row: StyleRow) -> str:
    return ", ".join(f"{name} {value}" for name, value in sorted(row.labels.items()))


def _cell(rows: list[StyleRow]) -> Cell:
    return Cell(
        ways=[f"{row.groups} of {row.of} {_way(row)}" for row in rows],
        has_skipped=any(row.never_delivered for row in rows),
    )


def _way(row: StyleRow) -> str:
    """E.g. `resumed at 200, skipped 100 records`."""
    if row.exception:
        return f"raised {row.exception.partition(' ')[0]}"
    reported = "did not resume" if row.resumed_at is None else f"resumed at {row.resumed_at:,}"
    if row.never_delivered:
        reported += f", skipped {with_noun(row.never_delivered, 'record')}"
    if row.redelivered:
        reported += f", read {with_noun(row.redelivered, 'record')} again"
    return reported
