"""Which positions of prefetch_race were not validated after the leader had changed."""

from collections import defaultdict
from collections.abc import Mapping

import msgspec

from contract.run_folder import RunFolder
from studies.arbiter.rows import Story, table_rows

Position = tuple[str, str, int]
"""Group, topic, partition."""


class RaceRow(msgspec.Struct, frozen=True, kw_only=True):
    """A position whose group had read records that the new leader lacks.

    pace: of the group's application, as the scenario names it.
    is_validated: its client reported the truncation.
    followed_by: `out of range, reset to` an offset, or `read on`.
    """

    story: str
    kafka: str
    build: str
    group: str
    client: str
    pace: str
    partition: int
    is_validated: bool
    followed_by: str


class Ahead(msgspec.Struct, frozen=True, kw_only=True):
    """The acknowledged commits of a run with a record's epoch, and those with a newer one."""

    story: str
    kafka: str
    build: str
    commits: int
    ahead: int


def race_rows(story: Story) -> tuple[list[RaceRow], Ahead]:
    """Return the positions and the commits of a run of prefetch_race."""
    run, kafka = story.run, story.verdict.kafka
    commits, newer = _commits(run)
    ahead = Ahead(story=story.name, kafka=kafka, build=story.build, commits=commits, ahead=newer)
    causes = _reset_causes(run)
    clients = {group.group: group.client for group in run.plan().groups}
    rows = []
    for group, topic, partition in sorted(_beyond_the_fork(run)):
        found = causes[group, topic, partition]
        rows.append(
            RaceRow(
                story=story.name,
                kafka=kafka,
                build=story.build,
                group=group,
                client=clients[group],
                pace=group.split(".")[1],
                partition=partition,
                is_validated="truncation" in found,
                followed_by=_followed_by(found),
            )
        )
    return rows, ahead


def _beyond_the_fork(run: RunFolder) -> set[Position]:
    """Positions of groups that read a record at an offset that a newer epoch took."""
    forks: dict[tuple[str, int], tuple[int, int]] = {}
    for row in table_rows(run, "replica_batches"):
        key = (row["topic"], row["partition"])
        if row["leader_epoch"] > 0:
            begun = (row["base_offset"], row["leader_epoch"])
            forks[key] = min(forks.get(key, begun), begun)
    return {
        (row["group"], row["topic"], row["partition"])
        for row in table_rows(run, "polls")
        if (fork := forks.get((row["topic"], row["partition"]))) is not None
        and row["leader_epoch"] < fork[1]
        and row["last_offset"] >= fork[0]
    }


def _reset_causes(run: RunFolder) -> defaultdict[Position, dict[str, int | None]]:
    """By position: where each cause of a reset led to."""
    causes: defaultdict[Position, dict[str, int | None]] = defaultdict(dict)
    for row in table_rows(run, "resets"):
        causes[row["group"], row["topic"], row["partition"]][row["cause"]] = row["to_offset"]
    return causes


def _followed_by(causes: Mapping[str, int | None]) -> str:
    if "out_of_range" in causes:
        return f"out of range, reset to {causes['out_of_range']}"
    return "read on"


def _commits(run: RunFolder) -> tuple[int, int]:
    known = [
        row
        for row in table_rows(run, "commits")
        if row["outcome"] == "ok" and row["committed_epoch"] >= 0 and row["record_epoch"] >= 0
    ]
    newer = [row for row in known if row["committed_epoch"] > row["record_epoch"]]
    return len(known), len(newer)
