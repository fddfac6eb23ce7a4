"""Lies about commits, what is stored of them, members of groups and resets."""

from random import Random
from typing import Any

from bench.lies.genuine import Row, Tables
from bench.lies.lie import (
    UNDECIDED,
    VIOLATION,
    Change,
    Lie,
    Verb,
    Where,
    alter,
    both,
    chosen,
    drop,
    plus,
    repeat,
    swap,
)
from bench.lies.stories import BASELINE, EARLIEST, EPOCHLESS, FIRST, FORCED, RAISING, TRUNCATION
from harness.contract.checks import Check
from harness.contract.tables import MICROS_PER_SECOND
from harness.contract.verdicts import FindingVerdict

_SECOND = MICROS_PER_SECOND


def of(group: str, offset: int | None = None) -> Where:
    """Rows of a group, at one offset if that is named."""
    return lambda row: row["group"] == group and (offset is None or row["offset"] == offset)


def event(group: str, change: str, member: int) -> Where:
    """Events of a group's member."""
    return lambda row: (
        (row["group"], row["change"], row["member"])
        == (
            group,
            change,
            f"{group}#{member}",
        )
    )


def asked_and_stored(group: str, at: int, **values: Any) -> Change:
    """Change a commit where the client asked for it, and where Kafka stored it."""
    tables = ("commits", "committed_offsets")
    return both(*(alter(table, of(group, at), **values) for table in tables))


def _lie(
    name: str,
    verb: Verb,
    table: str,
    check: Check,
    change: Change,
    *,
    story: str = BASELINE,
    verdict: FindingVerdict = VIOLATION,
) -> Lie:
    return Lie(
        name=name, verb=verb, table=table, story=story, check=check, verdict=verdict, change=change
    )


def another_owner(tables: Tables, random: Random) -> None:
    """Assign a partition to a second member of the generation, which is delivered records too."""
    one = chosen(tables, "group_events", event(FIRST, "assigned", 1), random)[0]
    other = f"{FIRST}#9"
    tables["group_events"].append({**one, "member": other, "at_micros": one["at_micros"] + 1000})
    polled = [row for row in tables["polls"] if row["member"] == one["member"]]
    tables["polls"] += [{**row, "member": other} for row in polled]


def an_old_members_commit(tables: Tables, random: Random) -> None:
    """Let a member of an old generation commit, after the next one was assigned the partition."""
    late = chosen(tables, "commits", of(FIRST, 2000), random)[0]
    stored = chosen(tables, "committed_offsets", of(FIRST, 2000), random)[0]
    tables["commits"].append(
        {
            **late,
            "member": f"{FIRST}#1",
            "generation": 1,
            "offset": 900,
            "began_micros": late["began_micros"] - 200_000,
            "committed_micros": late["began_micros"] - 180_000,
            "seq": late["seq"] - 1,
        }
    )
    tables["committed_offsets"].append(
        {
            **stored,
            "offset": 900,
            "offsets_offset": stored["offsets_offset"] - 2,
            "committed_micros": late["began_micros"] - 190_000,
        }
    )


def commit_again_lower(row: Row) -> int:
    """Half of a row's offset."""
    return int(row["offset"]) // 2


def a_false_truncation(tables: Tables, random: Random) -> None:
    """Let a member report a truncation in the middle of a branch that nobody left."""
    failed = chosen(tables, "group_events", event(RAISING, "failed", 2), random)[0]
    first = chosen(tables, "group_events", event(EARLIEST, "caught_up", 2), random)[0]
    tables["group_events"].append(
        {
            **failed,
            **{name: first[name] for name in ("group", "member", "topic", "partition", "worker")},
            "position": 350,
            "divergent_offset": 300,
            "divergent_epoch": 3,
            "seq": first["seq"] + 1,
            "at_micros": first["at_micros"] + 1,
        }
    )


def a_needless_reset(tables: Tables, random: Random) -> None:
    """Let a member be reset at its end, from a position within the log."""
    reset = chosen(tables, "resets", of_cause(EARLIEST, "truncation"), random)[0]
    tables["resets"].append(
        {
            **reset,
            "cause": "out_of_range",
            "from_offset": 350,
            "from_epoch": 3,
            "to_offset": 0,
            "to_epoch": -1,
            "at_micros": reset["at_micros"] + _SECOND // 5,
        }
    )


def of_cause(group: str, cause: str) -> Where:
    """Resets of a group."""
    return lambda row: (row["group"], row["cause"]) == (group, cause)


COMMITS = (
    _lie(
        "a stored commit was not asked for",
        Verb.DROP,
        "commits",
        Check.HISTORY_COMPLETE,
        drop("commits", of(FIRST, 1000)),
        verdict=UNDECIDED,
    ),
    _lie(
        "a stored commit is reported as failed for good",
        Verb.ALTER,
        "commits",
        Check.COMMIT_MISMATCH,
        alter("commits", of(FIRST, 1000), outcome="failed", error="CommitFailedException"),
    ),
    _lie(
        "a client says that it had nothing to commit, and a commit is stored",
        Verb.ALTER,
        "commits",
        Check.COMMIT_MISMATCH,
        alter("commits", of(FIRST, 1000), outcome="nothing", offset=None),
    ),
    _lie(
        "another offset was asked for than is stored",
        Verb.SHIFT,
        "commits",
        Check.COMMIT_MISMATCH,
        alter("commits", of(FIRST, 1000), offset=plus("offset", -10)),
    ),
    _lie(
        "another epoch was asked for than is stored",
        Verb.SHIFT,
        "commits",
        Check.COMMIT_MISMATCH,
        alter("commits", of(EARLIEST, 200), committed_epoch=0),
        story=TRUNCATION,
    ),
    _lie(
        "a commit waited 60 s",
        Verb.SHIFT,
        "commits",
        Check.COMMIT_UNAVAILABLE,
        alter("commits", of(FIRST, 2000), committed_micros=plus("committed_micros", 60 * _SECOND)),
    ),
    _lie(
        "a commit of an old generation was taken",
        Verb.ADD,
        "commits",
        Check.COMMIT_FROM_OLD_GENERATION,
        an_old_members_commit,
    ),
    _lie(
        "a commit belongs to the generation before",
        Verb.ALTER,
        "commits",
        Check.COMMIT_FROM_OLD_GENERATION,
        alter("commits", of(FIRST, 2000), generation=1, member=f"{FIRST}#1"),
    ),
    _lie(
        "a commit is acknowledged that was never stored",
        Verb.REPEAT,
        "commits",
        Check.LOST_COMMIT,
        repeat(
            "commits",
            of(FIRST, 2000),
            offset=1999,
            seq=plus("seq", 1),
            began_micros=plus("committed_micros", 10_000),
            committed_micros=plus("committed_micros", 20_000),
        ),
    ),
)
STORED = (
    _lie("an acknowledged commit is not stored", Verb.DROP, "committed_offsets",
         Check.LOST_COMMIT, drop("committed_offsets", of(FIRST, 2000))),
    _lie("an acknowledged commit is stored for another group", Verb.ALTER, "committed_offsets",
         Check.LOST_COMMIT, alter("committed_offsets", of(EARLIEST, 200), group=EPOCHLESS),
         story=TRUNCATION),
    _lie("an acknowledged commit is a tombstone", Verb.ALTER, "committed_offsets",
         Check.LOST_COMMIT,
         alter("committed_offsets", of(FIRST, 2000), is_tombstone=True, offset=-1)),
    _lie("an acknowledged commit is in no replica that survived", Verb.ALTER,
         "committed_offsets", Check.LOST_COMMIT,
         alter("committed_offsets", of(FIRST, 2000), brokers=[9])),
    _lie("the stored offset is 10 below the one that was asked for", Verb.SHIFT,
         "committed_offsets", Check.COMMIT_MISMATCH,
         alter("committed_offsets", of(FIRST, 1000), offset=plus("offset", -10))),
    _lie("the stored epoch differs from the one that was asked for", Verb.SHIFT,
         "committed_offsets", Check.COMMIT_MISMATCH,
         alter("committed_offsets", of(EARLIEST, 200), committed_epoch=0), story=TRUNCATION),
    _lie("the stored epoch is missing", Verb.ALTER, "committed_offsets", Check.COMMIT_MISMATCH,
         alter("committed_offsets", of(FIRST, 1000), committed_epoch=-1)),
    _lie("a stored commit is there again, lower and later", Verb.REPEAT, "committed_offsets",
         Check.HISTORY_COMPLETE,
         repeat("committed_offsets", of(FIRST, 2000), offset=commit_again_lower,
                offsets_offset=plus("offsets_offset", 500),
                committed_micros=plus("committed_micros", 1000)), verdict=UNDECIDED),
    _lie("two commits of a group are stored the other way round", Verb.SWAP,
         "committed_offsets", Check.COMMIT_REGRESSED,
         swap("committed_offsets", of(FIRST), "offset", by="offsets_offset")),
    _lie("a group committed less than before", Verb.ALTER, "committed_offsets",
         Check.COMMIT_REGRESSED, asked_and_stored(FIRST, 2000, offset=500)),
    _lie("a group committed beyond what it was delivered", Verb.ALTER, "committed_offsets",
         Check.COMMIT_BEYOND_PROCESSED, asked_and_stored(RAISING, 200, offset=300),
         story=TRUNCATION),
    _lie("a group committed beyond the log's end", Verb.ALTER, "committed_offsets",
         Check.COMMIT_BEYOND_LOG, asked_and_stored(FIRST, 2000, offset=1_000_000)),
    _lie("a group that commits the record's epoch committed a lower one", Verb.ALTER,
         "committed_offsets", Check.COMMITTED_EPOCH_STALE,
         asked_and_stored(EARLIEST, 200, committed_epoch=0), story=TRUNCATION),
    _lie("a group that commits the record's epoch committed none", Verb.ALTER,
         "committed_offsets", Check.COMMITTED_EPOCH_MISSING,
         asked_and_stored(EARLIEST, 200, committed_epoch=-1), story=TRUNCATION),
    _lie("a group that commits the record's epoch committed a higher one", Verb.ALTER,
         "committed_offsets", Check.COMMITTED_EPOCH_AHEAD,
         asked_and_stored(EARLIEST, 200, committed_epoch=3), story=TRUNCATION),
    _lie("a group committed an epoch that the partition never had", Verb.ALTER,
         "committed_offsets", Check.COMMITTED_EPOCH_UNKNOWN,
         asked_and_stored(EARLIEST, 200, committed_epoch=77), story=TRUNCATION),
    _lie("a group's later commit has a lower epoch", Verb.ALTER, "committed_offsets",
         Check.COMMITTED_EPOCH_REGRESSED,
         both(asked_and_stored(FIRST, 1000, committed_epoch=4),
              asked_and_stored(FIRST, 2000, committed_epoch=0))),
)  # fmt: skip
EVENTS = (
    _lie("a member was assigned nothing, and was delivered records", Verb.DROP, "group_events",
         Check.HISTORY_CONSISTENT, drop("group_events", event(FIRST, "assigned", 2)),
         verdict=UNDECIDED),
    _lie("a member was assigned a position before its deliveries", Verb.SHIFT, "group_events",
         Check.HISTORY_CONSISTENT,
         alter("group_events", event(FIRST, "assigned", 2), position=plus("position", -300)),
         verdict=UNDECIDED),
    _lie("a member was assigned a position after its deliveries", Verb.SHIFT, "group_events",
         Check.HISTORY_CONSISTENT,
         alter("group_events", event(FIRST, "assigned", 2), position=plus("position", 300)),
         verdict=UNDECIDED),
    _lie("a member was assigned a position beyond the log", Verb.SHIFT, "group_events",
         Check.HISTORY_CONSISTENT,
         alter("group_events", event(FIRST, "assigned", 2), position=1_000_000),
         verdict=UNDECIDED),
    _lie("a member caught up beyond the log", Verb.SHIFT, "group_events",
         Check.HISTORY_CONSISTENT,
         alter("group_events", event(FIRST, "caught_up", 2), position=1_000_000),
         verdict=UNDECIDED),
    _lie("a member caught up beyond its deliveries", Verb.SHIFT, "group_events",
         Check.HISTORY_CONSISTENT,
         alter("group_events", event(FIRST, "caught_up", 1), position=plus("position", 200)),
         verdict=UNDECIDED),
    _lie("a member caught up before its deliveries", Verb.SHIFT, "group_events",
         Check.HISTORY_CONSISTENT,
         alter("group_events", event(FIRST, "caught_up", 2), position=plus("position", -200)),
         verdict=UNDECIDED),
    _lie("a second member was assigned the partition in one generation", Verb.ADD,
         "group_events", Check.DOUBLE_OWNERSHIP, another_owner),
    _lie("the offset of a LogTruncationException is 30 too high", Verb.SHIFT, "group_events",
         Check.DIVERGENCE_MISMATCH,
         alter("group_events", event(RAISING, "failed", 2),
               divergent_offset=plus("divergent_offset", 30)), story=TRUNCATION),
    _lie("the offset of a LogTruncationException is 30 too low", Verb.SHIFT, "group_events",
         Check.DIVERGENCE_MISMATCH,
         alter("group_events", event(RAISING, "failed", 2),
               divergent_offset=plus("divergent_offset", -30)), story=TRUNCATION),
    _lie("a member reported a truncation of a branch that nobody left", Verb.ADD,
         "group_events", Check.FALSE_TRUNCATION, a_false_truncation, story=TRUNCATION),
    _lie("a member never came to the log's end", Verb.ALTER, "group_events",
         Check.STUCK_CONSUMER,
         alter("group_events", event(FIRST, "caught_up", 2), change="stalled", position=1500)),
)  # fmt: skip
RESETS = (
    _lie("a member's reset after a truncation is not told", Verb.DROP, "resets",
         Check.START_MISMATCH, drop("resets", of_cause(EARLIEST, "truncation")),
         story=TRUNCATION),
    _lie("a member was reset from a position on the surviving branch", Verb.SHIFT, "resets",
         Check.UNJUSTIFIED_RESET,
         alter("resets", of_cause(EARLIEST, "truncation"), from_offset=90, from_epoch=1),
         story=TRUNCATION),
    _lie("a member was reset once more, within the log", Verb.ADD, "resets",
         Check.UNJUSTIFIED_RESET, a_needless_reset, story=TRUNCATION),
    _lie("a member was reset as out of range, within the log", Verb.REPEAT, "resets",
         Check.UNJUSTIFIED_RESET,
         repeat("resets", of_cause(FIRST, "no_commit"), cause="out_of_range", from_offset=1000,
                from_epoch=0, to_offset=0, member=f"{FIRST}#2",
                at_micros=plus("at_micros", 1_330_000))),
    _lie("a group whose commit names the leader's epoch was truncated", Verb.REPEAT, "resets",
         Check.FALSE_TRUNCATION,
         repeat("resets", of_cause(EARLIEST, "truncation"), group=FORCED, member=f"{FORCED}#2",
                from_offset=350, from_epoch=3, to_offset=300, to_epoch=3), story=TRUNCATION),
)  # fmt: skip
