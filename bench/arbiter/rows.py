"""The outcome of each group in runs of commit_hazards."""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from analysis.preview import preview
from contract.regular_files import replace_file
from contract.run_folder import GroupPlan, RunDescription, RunFolder, find_runs
from contract.verdicts import Resumption, Verdict

HAZARDS, RACE = "commit_hazards", "prefetch_race"
RELEASED = "released"
_PATCHED = re.compile(r"^kafka-clients-[0-9.]+-(.+)\.jar$")


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One group of one run: how it committed, what the hazard was, and how it went on.

    hazard: with the topic, e.g. `truncated/above`.
    build: the patch of the client, or `released`.
    kafka: the version of brokers and clients.
    story: names the run; all groups of a run share one story.
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
    def keys(self) -> dict[str, str]:
        """What predictions fit by."""
        return {
            "kafka": self.kafka,
            "build": self.build,
            "hazard": self.hazard.partition("/")[0],
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


def runs_of(scenario: str, folders: Iterable[Path]) -> Iterator[tuple[RunFolder, Verdict]]:
    """Return the runs of a scenario below some folders that ended without an error, with verdicts.

    DuckDB judges a run without a verdict, once: its verdict is kept in the arbiter's file.
    """
    for folder in folders:
        for run in find_runs(folder):
            if run.plan().scenario == scenario and is_complete(run.run()):
                yield run, _verdict(run)


def rows_of(folders: Iterable[Path]) -> list[Row]:
    """Return the rows of all runs of commit_hazards below some folders."""
    found = []
    for run, verdict in runs_of(HAZARDS, folders):
        build, plan = build_of(run.run()), run.plan()
        groups = {group.group: group for group in plan.groups}
        hazard = str(plan.parameters["hazard"])
        found += [
            _row(one, groups[one.group], hazard, build, verdict) for one in verdict.resumption
        ]
    return found


def _verdict(run: RunFolder) -> Verdict:
    by_spark, own = run.report / "verdict.json", run.report / "arbiter.json"
    for file in (by_spark, own):
        if file.exists():
            return msgspec.json.decode(file.read_bytes(), type=Verdict)
    verdict = preview(run)
    own.parent.mkdir(exist_ok=True)
    replace_file(own, msgspec.json.encode(verdict))
    return verdict


def _row(one: Resumption, group: GroupPlan, hazard: str, build: str, verdict: Verdict) -> Row:
    return Row(
        story=f"{verdict.kafka} {build} {hazard} {verdict.seed}",
        kafka=verdict.kafka,
        build=build,
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
