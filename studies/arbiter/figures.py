"""The figures of the arbiter's pages, which outlive the folders of the runs (docs/data)."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from contract.tables import MICROS_PER_SECOND
from studies.arbiter.race import Ahead, RaceRow
from studies.arbiter.rows import HAZARDS, Row, Story, rows_of


class Outcome(msgspec.Struct, frozen=True, array_like=True):
    """A group of a run: how it committed, and how it went on. The fields are those of Row."""

    topic: str
    client: str
    manner: str
    style: str
    reset: str
    committed_epoch: int | None
    resumed_at: int | None
    redelivered: int | None
    never_delivered: int | None
    exception: str | None


class Ran(msgspec.Struct, frozen=True, kw_only=True):
    """A run, with the outcome of each group of commit_hazards.

    Attributes:
        name: of its cell, by which `run --only` repeats it.
        kafka: the version of brokers and clients.
        build: the patch of the client, or `released`.
        hazard: of commit_hazards or mixed_languages; empty for prefetch_race.
        jars: own ones, with their hashes.
        judged_by: the engine.
        seconds: that it took.
        groups: in the order of the page.
    """

    name: str
    kafka: str
    build: str
    hazard: str
    jars: list[str]
    judged_by: str
    seconds: int
    groups: list[Outcome] = []

    @property
    def rows(self) -> list[Row]:
        """The rows of its groups."""
        return [
            Row(
                story=self.name,
                kafka=self.kafka,
                build=self.build,
                hazard=f"{self.hazard}/{one.topic}",
                **{name: getattr(one, name) for name in Outcome.__struct_fields__[1:]},
            )
            for one in self.groups
        ]


class Raced(msgspec.Struct, frozen=True, kw_only=True):
    """The positions of prefetch_race of one build, client and pace.

    Attributes:
        stories: the names of the runs.
        positions: whose group had read records that the new leader lacks.
        not_validated: of these, those for which nothing asked where their epoch ends.
        followed_by: what followed these, by what it was.
    """

    build: str
    client: str
    pace: str
    stories: list[str]
    positions: int
    not_validated: int
    followed_by: dict[str, int]


class Newer(msgspec.Struct, frozen=True, kw_only=True):
    """The commits of prefetch_race of one build, and those with a newer epoch than the record's."""

    build: str
    stories: list[str]
    commits: int
    newer: int


class Figures(msgspec.Struct, frozen=True, kw_only=True):
    """All of it. race_groups: the groups of all runs of prefetch_race."""

    runs: list[Ran]
    races: list[Raced]
    race_groups: int
    newer: list[Newer]

    @property
    def rows(self) -> list[Row]:
        """The rows of all runs of commit_hazards."""
        return [row for run in self.runs for row in run.rows]


def figures_of(
    hazards: Sequence[Story], races: Sequence[Story], raced: Sequence[tuple[list[RaceRow], Ahead]]
) -> Figures:
    """Return the figures of runs.

    Args:
        hazards: runs of commit_hazards.
        races: those of prefetch_race.
        raced: the positions and commits of each of these.
    """
    positions = [row for rows, _ in raced for row in rows]
    return Figures(
        runs=sorted(map(ran, [*hazards, *races]), key=lambda one: one.name),
        races=_raced(positions),
        race_groups=len({(row.story, row.group) for row in positions}),
        newer=_newer([ahead for _, ahead in raced]),
    )


def ran(story: Story) -> Ran:
    """Return a run; with its groups, if it is of commit_hazards."""
    run, plan = story.run.run(), story.run.plan()
    hazard = str(plan.parameters.get("hazard", ""))
    rows = sorted(rows_of(story) if plan.scenario == HAZARDS else [], key=_order)
    return Ran(
        name=story.name,
        kafka=story.verdict.kafka,
        build=story.build,
        hazard=hazard,
        jars=[f"{Path(jar.path).name} {jar.sha256}" for jar in run.build.client_jars]
        if run.build
        else [],
        judged_by=story.judged_by,
        seconds=round(((run.ended_micros or 0) - run.started_micros) / MICROS_PER_SECOND),
        groups=[
            Outcome(
                row.hazard.partition("/")[2],
                **{name: getattr(row, name) for name in Outcome.__struct_fields__[1:]},
            )
            for row in rows
        ],
    )


def _raced(positions: Iterable[RaceRow]) -> list[Raced]:
    kinds: defaultdict[tuple[str, str, str], list[RaceRow]] = defaultdict(list)
    for row in positions:
        kinds[row.build, row.client, row.pace].append(row)
    return [
        Raced(
            build=build,
            client=client,
            pace=pace,
            stories=sorted({row.story for row in rows}),
            positions=len(rows),
            not_validated=sum(not row.is_validated for row in rows),
            followed_by=Counter(row.followed_by for row in rows if not row.is_validated),
        )
        for (build, client, pace), rows in sorted(kinds.items())
    ]


def _newer(of_runs: Iterable[Ahead]) -> list[Newer]:
    by_build: defaultdict[str, list[Ahead]] = defaultdict(list)
    for one in of_runs:
        by_build[one.build].append(one)
    return [
        Newer(
            build=build,
            stories=sorted(one.story for one in own),
            commits=sum(one.commits for one in own),
            newer=sum(one.ahead for one in own),
        )
        for build, own in sorted(by_build.items())
    ]


def _order(row: Row) -> tuple[str, ...]:
    return row.hazard, row.client, row.manner, row.style, row.reset
