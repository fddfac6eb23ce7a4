"""The parts of docs/arbiter.md that the runs make."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence

from contract.outcomes import CommitEpoch, Manner, ResetPolicy
from contract.verdicts import Engine
from studies.arbiter.cells import BUILDS
from studies.arbiter.figures import Figures
from studies.arbiter.in_brief import bare, in_brief, plain
from studies.arbiter.predictions import (
    Difference,
    differences,
    predictions,
    said,
    said_epoch,
    suppression,
)
from studies.arbiter.rows import RELEASED, Row
from studies.arbiter.shown import (
    COUNTS,
    Cell,
    Section,
    Table,
    cell,
    cost,
    counted,
    counts,
    of_stories,
)
from studies.arbiter.table import table

TOPICS = {
    "clean/kept": "the leader changes between poll and commit",
    "empty/kept": "two changes of the leader; an epoch without records",
    "control/kept": "the commit follows an abort marker of a newer epoch",
    "aborted/kept": "the commit follows an aborted batch of a newer epoch",
    "expired/part": "DeleteRecords: the epoch before the group's is gone",
    "expired/whole": "DeleteRecords: the group's epoch is gone",
    "expired/beyond": "DeleteRecords: records after the position are gone",
    "retained/time": "retention by time: the group's epoch is gone",
    "retained/size": "retention by size: the group's epoch is gone",
    "validated/above": "epoch of a restart committed, then an unclean election",
    "truncated/above": "unclean election; the new log is longer",
    "truncated/below": "unclean election; the new log is shorter",
    "returned/kept": "two unclean elections; the lost records come back",
    "twice/longer": "read between two unclean elections, beyond what comes back",
    "twice/shorter": "read between two unclean elections, within what comes back",
    "recreated/kept": "the topic is deleted and created again",
}
"""Each hazard with its topic, in words."""


def sections(figures: Figures) -> Iterator[Section]:
    """Return all parts, the answer first."""
    rows = figures.rows
    found = differences(rows)
    yield in_brief(figures)
    yield _of_hazards(rows)
    yield _of_ways([row for row in rows if row.build == RELEASED])
    yield _of_resets([row for row in rows if row.build == RELEASED])
    yield _of_race(figures)
    yield _of_differences(rows, found)
    yield _of_builds(rows)
    yield _of_conditions(figures)


def _of_hazards(rows: Sequence[Row]) -> Section:
    """One row a hazard, one column a client."""
    choosing = plain(rows)
    shown = Table(("hazard", "in words", *BUILDS, "no epoch", *COUNTS))
    without_epoch = bare(rows)
    for topic in _topics(rows):
        by_build = [
            [row for row in choosing if (row.hazard, row.build) == (topic, build)]
            for build in BUILDS
        ]
        without = [row for row in without_epoch if row.hazard == topic]
        every = [row for some in (*by_build, without) for row in some]
        costs = (*map(cost, by_build), cost(without))
        shown.rows.append((Cell(topic), Cell(TOPICS[topic]), *costs, *counts(every)))
    return Section(
        "What each choice costs, in records",
        (
            (
                "Plain commits of each client: `commitSync()`, `commitAsync()`, "
                "`enable.auto.commit` and `commitSync()` in `onPartitionsRevoked`, both group "
                "protocols where the version has both. The last column is the released client when "
                "the application commits an offset without an epoch. Reset policy `earliest`. `0`: "
                "the group resumes where it was; nothing is skipped or read again."
            ),
        ),
        (shown,),
    )


def _of_ways(rows: Sequence[Row]) -> Section:
    chosen = [row for row in rows if row.reset == ResetPolicy.EARLIEST]
    topics = _topics(chosen)
    shown = Table(("manner", "style", *topics, *COUNTS))
    for manner in Manner:
        for style in CommitEpoch:
            own = [row for row in chosen if (row.manner, row.style) == (manner, style)]
            if own:
                costs = [cost([row for row in own if row.hazard == topic]) for topic in topics]
                shown.rows.append((Cell(manner), Cell(style), *costs, *counts(own)))
    return Section(
        "What each way of committing costs with the released client",
        (
            (
                "Reset policy `earliest`. A cell without a count holds for every group of the row; "
                "`0`: resumes where it was, nothing is skipped or read again. Of all versions."
            ),
        ),
        (shown,),
        is_detail=True,
    )


def _of_resets(rows: Sequence[Row]) -> Section:
    shown = Table(("hazard", "style", *ResetPolicy, *COUNTS))
    for topic in _topics(rows):
        for style in (CommitEpoch.RECORD, CommitEpoch.NONE):
            own = [
                row
                for row in rows
                if (row.hazard, row.style, row.manner, row.client)
                == (topic, style, Manner.SYNC, "java")
            ]
            if own:
                by_reset = [[row for row in own if row.reset == reset] for reset in ResetPolicy]
                costs = [
                    cell(counted(map(said, some)), some) if some else Cell("not run")
                    for some in by_reset
                ]
                shown.rows.append((Cell(topic), Cell(style), *costs, *counts(own)))
    return Section(
        "What the reset policy changes",
        ("`commitSync` with the record's epoch and without an epoch, released client, classic.",),
        (shown,),
        is_detail=True,
    )


def _of_differences(rows: Sequence[Row], found: Sequence[Difference]) -> Section:
    shown = Table(("hazard", "client", "manner, style", "predicted", "came out", *COUNTS, "why"))
    alike: defaultdict[tuple[str, ...], list[Difference]] = defaultdict(list)
    for one in found:
        row = one.row
        alike[
            row.hazard,
            f"{row.build}, {row.client}, Kafka {row.kafka}",
            f"{row.manner}, {row.style}",
            one.predicted,
            one.came_out,
            one.why or "**not explained**",
        ].append(one)
    for (hazard, client, way, predicted, came_out, why), own in sorted(
        alike.items(), key=lambda item: item[0]
    ):
        shown.rows.append(
            (
                Cell(hazard),
                Cell(client),
                Cell(way),
                Cell(predicted, line=own[0].line),
                cell(came_out, (one.row for one in own)),
                *counts([one.row for one in own]),
                Cell(" ".join(why.split())),
            )
        )
    return Section(
        "Where it came out otherwise than predicted",
        (
            (
                f"{len(rows) - len(found)} of {len(rows)} groups came out as "
                "[predicted](../studies/arbiter/predictions.yml) from the source."
            ),
        ),
        (shown,) if found else (),
    )


def _of_builds(rows: Sequence[Row]) -> Section:
    choosing = plain(rows)
    shown = Table(("hazard", "client", "Kafka", "commits", "resumption", *COUNTS))
    for topic in _topics(choosing):
        for build in BUILDS:
            found = [row for row in choosing if (row.hazard, row.build) == (topic, build)]
            for kafka in sorted({row.kafka for row in found}, reverse=True):
                own = [row for row in found if row.kafka == kafka]
                shown.rows.append(
                    (
                        Cell(topic),
                        Cell(build),
                        Cell(kafka),
                        cell(counted(said_epoch(row.committed_epoch) for row in own), own),
                        cell(counted(map(said, own)), own),
                        *counts(own),
                    )
                )
    return Section(
        "What each client commits, by Kafka version",
        ("The groups of the second table, with the epochs that they committed.",),
        (shown,),
        is_detail=True,
    )


def _of_race(figures: Figures) -> Section:
    positions = Table(
        ("client", "protocol", "pace", "predicted", "not validated", "what followed", "stories")
    )
    known = predictions()
    for one in sorted(figures.races, key=lambda one: BUILDS.index(one.build)):
        predicted = suppression(one.build, known)
        positions.rows.append(
            (
                Cell(one.build),
                Cell(one.client),
                Cell(one.pace),
                Cell(predicted.suppressed, line=predicted.line),
                of_stories(f"{one.not_validated} of {one.positions}", one.stories),
                Cell(counted(Counter(one.followed_by).elements()) if one.followed_by else ""),
                Cell(str(len(one.stories))),
            )
        )
    commits = Table(
        ("client", "commits with a newer epoch", "stories"),
        caption="Epochs committed in these runs that are newer than the last record's:",
    )
    for of in sorted(figures.newer, key=lambda one: BUILDS.index(one.build)):
        told = of_stories(f"{of.newer} of {of.commits}", of.stories)
        commits.rows.append((Cell(of.build), told, Cell(str(len(of.stories)))))
    return Section(
        "Validations that no longer happen",
        (
            (
                "prefetch_race: positions whose group had read records that the new leader "
                "lacks. `not validated`: the client's log has no truncation there, so nothing "
                "asked where the position's epoch ends. A position that is out of range then is "
                "logged with the old epoch of its record and the new epoch of its leader."
            ),
        ),
        (positions, commits),
        is_detail=True,
    )


def _of_conditions(figures: Figures) -> Section:
    rows, runs = figures.rows, figures.runs
    races = sum(not run.hazard for run in runs)
    engines = Counter(run.judged_by for run in runs)
    of_table = {(row.kafka, row.build, row.topic, row.group) for row in table()}
    judged = {
        (row.kafka, row.build, row.hazard, _group(row)) for row in rows if "-pairs-" in row.story
    }
    versions = sorted({run.kafka for run in runs})
    return Section(
        "The runs",
        (
            (
                f"{len(runs) - races} stories of commit_hazards with {len(rows)} groups, and "
                f"{races} of prefetch_race with {figures.race_groups} groups, on Kafka "
                f"{', '.join(versions)}. All groups of a story share its elections: they are one "
                "sample of the story, and many of what a client does in it."
            ),
            (
                f"The runs took {sum(run.seconds for run in runs) / 60:.0f} minutes in all, "
                f"without judging. DuckDB judged {engines[Engine.DUCKDB]} of them, and Spark SQL "
                f"{engines[Engine.SPARK_SQL]}."
            ),
            f"{len(of_table & judged)} of the {len(of_table)} rows of the pairwise table have run.",
        ),
    )


def _group(row: Row) -> str:
    topic = row.hazard.partition("/")[2]
    return f"{topic}.{row.client}.{row.manner}.{row.style}.{row.reset}"


def _topics(rows: Iterable[Row]) -> list[str]:
    ran = {row.hazard for row in rows}
    return [topic for topic in TOPICS if topic in ran]
