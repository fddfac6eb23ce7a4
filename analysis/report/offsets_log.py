"""What happened to a group's commits: what its clients report, and where they are stored."""

from collections.abc import Iterator
from typing import Any

from analysis.checks.registry import CHECKS
from analysis.facts.hashes import abs_java_hash
from analysis.report.figures import with_noun
from analysis.report.moments import (
    Kind,
    Moment,
    Place,
    ends_of_rows,
    in_history,
    leaderships,
    position_in_words,
    truncations,
)
from analysis.report.run_tables import Row, RunTables
from contract.checks import Check
from contract.tables import OFFSETS_TOPIC
from contract.verdicts import Finding

_NO_PRODUCER = -1
_FAMILIES = ("D", "E")
_OTHERS = (
    Check.OFFSETS_WITHOUT_OUTPUT,
    Check.OUTPUT_WITHOUT_OFFSETS,
    Check.COMMIT_UNAVAILABLE,
    Check.WRONG_COMMIT_ERROR,
    Check.WRONG_STORED_COMMIT,
    Check.WRONG_FETCHED_COMMIT,
)


def is_about_commits(finding: Finding) -> bool:
    """Whether a finding is about what a group committed."""
    if finding.group is None or finding.check not in set(Check):
        return False
    check = Check(finding.check)
    return check in _OTHERS or (check in CHECKS and CHECKS[check].id.startswith(_FAMILIES))


def offsets_partition(tables: RunTables, group: str) -> int | None:
    """The partition of `__consumer_offsets` that a group hashes to; None if there is no topic."""
    led = tables.rows("leaderships", topic=OFFSETS_TOPIC)
    partitions = max((row["partition"] + 1 for row in led), default=0)
    return abs_java_hash(group) % partitions if partitions else None


def commits_of(tables: RunTables, where: Place, at: int | None) -> Iterator[Moment]:
    """The commits of a group on a partition, as its clients report them and as they are stored.

    On each partition, where it commits nothing of the story's own. Of equal ones in a row the first
    and the last, and those of the time `at`.
    """
    is_here = any(tables.rows(name, **where.of_group) for name in ("commits", "committed_offsets"))
    chosen = where.of_group if is_here else {"group": where.group}
    reported = sorted(tables.rows("commits", **chosen), key=lambda row: int(row["seq"]))
    for row, note in ends_of_rows(reported, _as_reported, at=at):
        error = f" ({row['error']})" if row["error"] else ""
        position = position_in_words(row) + ("" if is_here else _on(row))
        what = f"commits {position}: {row['outcome']}{error}{note}"
        yield in_history(row, row["committed_micros"], row["member"], what, Kind.COMMIT)
    stored = sorted(
        tables.rows("committed_offsets", **chosen),
        key=lambda row: int(row["offsets_offset"]),
    )
    for row, note in ends_of_rows(stored, _as_stored, at=at):
        who = f"{OFFSETS_TOPIC}-{row['offsets_partition']}"
        what = _stored(row, "" if is_here else _on(row)) + note
        yield Moment(row["committed_micros"], who, what, Kind.STORED)


def _on(row: Row) -> str:
    return f" on {row['topic']}-{row['partition']}"


def _as_reported(row: Row) -> tuple[Any, ...]:
    return row["committed_epoch"], row["outcome"], row["error"]


def _as_stored(row: Row) -> tuple[Any, ...]:
    return row["committed_epoch"], row["is_tombstone"], row["offsets_partition"], _brokers(row)


def _stored(row: Row, on: str) -> str:
    place = f"at offset {row['offsets_offset']}, {_brokers(row)}"
    if row["is_tombstone"]:
        return f"stores that the commit of {row['group']}{on} is deleted, {place}"
    what = f"stores {position_in_words(row)}{on} of {row['group']}, {place}"
    is_alone = row["producer_id"] in (None, _NO_PRODUCER)
    return what if is_alone else f"{what}, in a transaction ({row['marker'] or 'no marker'})"


def _brokers(row: Row) -> str:
    """The replicas that hold a record at the end, in words."""
    if row["brokers"] is None:
        return "on brokers that are not known"
    held = sorted(row["brokers"].tolist())
    return f"on {'broker' if len(held) == 1 else 'brokers'} {', '.join(map(str, held))}"


def offsets_log(tables: RunTables, group: str) -> Iterator[Moment]:
    """What happened to the partition of `__consumer_offsets` that has a group's commits."""
    partition = offsets_partition(tables, group)
    if partition is not None:
        where, name = Place(OFFSETS_TOPIC, partition), f"{OFFSETS_TOPIC}-{partition}"
        yield from leaderships(tables, where, name=name)
        yield from truncations(tables, where, name=name)


def ends_of_offsets(tables: RunTables, group: str) -> Iterator[str]:
    """What each replica of that partition holds at the end: of the group, and of all groups."""
    partition = offsets_partition(tables, group)
    if partition is None:
        return
    led = tables.rows("leaderships", **Place(OFFSETS_TOPIC, partition).of_partition)
    stored = tables.rows("committed_offsets", offsets_partition=partition)
    for broker in sorted(led[-1]["replicas"].tolist()):
        held = [row for row in stored if row["brokers"] is not None and broker in row["brokers"]]
        own = [row["offsets_offset"] for row in held if row["group"] == group]
        line = f"{OFFSETS_TOPIC}-{partition} on broker {broker}: {with_noun(len(own), 'commit')}"
        line += f" of {group}" + (f", the last at offset {max(own)}" if own else "")
        every = max((row["offsets_offset"] for row in held), default=None)
        yield line if every is None else f"{line}; the last of any group at offset {every}"


def responses(tables: RunTables, finding: Finding) -> Iterator[Moment]:
    """The responses of the finding's time, where it is about single requests."""
    if finding.at is None:
        return
    for row in tables.rows("wire_calls", at_micros=finding.at):
        if finding.group in (None, row["group"]):
            asked = {
                "offset": row["asked_offset"],
                "epoch": row["asked_epoch"],
                "current leader epoch": row["current_leader_epoch"],
                "group": row["group"],
                "member": row["member"],
                "generation": row["generation"],
            }
            about = ", ".join(f"{name} {one}" for name, one in asked.items() if one is not None)
            outcome = row["failure"] or f"error code {row['error_code']}"
            who = row["client"] or f"broker {row['broker']}"
            what = f"responds to {row['api']} version {row['version']} ({about}): {outcome}"
            yield in_history(row, row["at_micros"], who, what, Kind.RESPONSE)
