"""The outcome of each group in runs of commit_hazards."""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pyarrow.parquet as pq

from contract.run_folder import GroupPlan, RunDescription, RunFolder, find_runs
from contract.verdicts import Resumption, Verdict
from studies.runs import verdicts_of

HAZARDS, RACE, LANGUAGES = "commit_hazards", "prefetch_race", "mixed_languages"
RELEASED = "released"
_PATCHED = re.compile(r"^kafka-clients-[0-9.]+-(.+)\.jar$")


class Story(msgspec.Struct, frozen=True, kw_only=True):
    """A run that ended without an error, and its verdict.

    name: of its cell, by which `run --only` repeats it.
    build: the patch of the client, or `released`.
    """

    name: str
    build: str
    run: RunFolder
    verdict: Verdict

    @property
    def judged_by(self) -> str:
        """The engine."""
        return "" if self.verdict.judging is None else str(self.verdict.judging.engine)


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One group of one run: how it committed, what the hazard was, and how it went on.

    hazard: with the topic, e.g. `truncated/above`.
    build: the patch of the client, or `released`.
    kafka: the version of brokers and clients.
    story: the name of its run's cell; all groups of a run share one story.
    """

    story: str
    kafka: str
    build: str
    hazard: str
    style: str
    manner: str
    client: str
    reset: str
    committed_epoch: int | None
    resumed_at: int | None
    redelivered: int | None
    never_delivered: int | None
    exception: str | None

    @property
    def cause(self) -> str:
        """The hazard, without the topic."""
        return self.hazard.partition("/")[0]

    @property
    def group(self) -> str:
        """The name of its group."""
        topic = self.hazard.partition("/")[2]
        return f"{topic}.{self.client}.{self.manner}.{self.style}.{self.reset}"

    @property
    def keys(self) -> dict[str, str]:
        """What predictions fit by."""
        return {
            "kafka": self.kafka,
            "build": self.build,
            "hazard": self.cause,
            "topic": self.hazard,
            "style": self.style,
            "manner": self.manner,
            "client": self.client,
            "reset": self.reset,
            "committed": str(self.committed_epoch),
        }


def is_complete(run: RunDescription) -> bool:
    """Whether a run ended, without an error."""
    return run.ended_micros is not None and run.error is None


def build_of(run: RunDescription) -> str:
    """Return the name of the patch whose jar comes first on the clients' class path."""
    jars = [] if run.build is None else run.build.client_jars
    named = [match[1] for jar in jars if (match := _PATCHED.match(jar.name))]
    return named[0] if named else RELEASED


def stories_of(scenario: str, folders: Iterable[Path]) -> Iterator[Story]:
    """Return the runs of a scenario below some folders that ended without an error."""
    runs = [
        run
        for folder in folders
        for run in find_runs(folder)
        if run.plan().scenario == scenario and is_complete(run.run())
    ]
    for run, verdict in zip(runs, verdicts_of(runs), strict=True):
        build = build_of(run.run())
        yield Story(name=_name(run, build, verdict), build=build, run=run, verdict=verdict)


def rows_of(story: Story) -> list[Row]:
    """Return the rows of a run of commit_hazards, by its verdict."""
    plan = story.run.plan()
    groups = {group.group: group for group in plan.groups}
    hazard = str(plan.parameters["hazard"])
    return [_row(one, groups[one.group], hazard, story) for one in story.verdict.resumption]


def table_rows(run: RunFolder, table: str) -> Iterator[dict[str, Any]]:
    """Yield the rows of one table of a run."""
    yield from pq.read_table(run.tables / f"{table}.parquet").to_pylist()


def _name(run: RunFolder, build: str, verdict: Verdict) -> str:
    parameters = run.plan().parameters
    pairs = "-pairs" if "ways" in parameters else ""
    return f"{verdict.kafka}-{build}-{parameters.get('hazard', 'race')}{pairs}-{verdict.seed}"


def _row(one: Resumption, group: GroupPlan, hazard: str, story: Story) -> Row:
    return Row(
        story=story.name,
        kafka=story.verdict.kafka,
        build=story.build,
        hazard=f"{hazard}/{one.topic}",
        style=one.commit_epoch,
        manner=group.manner,
        client=one.client,
        reset=one.reset,
        committed_epoch=one.committed_epoch,
        resumed_at=one.resumed_at,
        redelivered=one.redelivered,
        never_delivered=one.never_delivered,
        exception=one.exception,
    )
