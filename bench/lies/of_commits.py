"""Lies about commits, and what is stored of them."""

from functools import partial
from random import Random
from typing import Any

from bench.lies.genuine import Row, Tables
from bench.lies.lie import (
    PERMITTED,
    UNDECIDED,
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
from bench.lies.stories import BASELINE, EARLIEST, EPOCHLESS, FIRST, RAISING, TRUNCATION
from contract.checks import Check
from contract.tables import MICROS_PER_SECOND

_lie = partial(Lie, story=BASELINE)
_SECOND = MICROS_PER_SECOND


def of(group: str, offset: int | None = None) -> Where:
    """Rows of a group, at one offset if that is named."""
    return lambda row: row["group"] == group and (offset is None or row["offset"] == offset)


def asked_and_stored(group: str, at: int, **values: Any) -> Change:
    """Change a commit where the client asked for it, and where Kafka stored it."""
    tables = ("commits", "committed_offsets")
    return both(*(alter(table, of(group, at), **values) for table in tables))


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
            "began_micros": late["committed_micros"] + 200_000,
            "committed_micros": late["committed_micros"] + 220_000,
            "seq": late["seq"] + 1,
        }
    )
    tables["committed_offsets"].append(
        {
            **stored,
            "offset": 900,
            "offsets_offset": stored["offsets_offset"] + 1,
            "committed_micros": late["committed_micros"] + 210_000,
        }
    )


def commit_again_lower(row: Row) -> int:
    """Half of a row's offset."""
    return int(row["offset"]) // 2


COMMITS = (
    _lie("a stored commit was not asked for", Verb.DROP, "commits",
         Check.HISTORY_COMPLETE, drop("commits", of(FIRST, 1000)), verdict=UNDECIDED),
    _lie("a stored commit is reported as failed for good", Verb.ALTER, "commits",
         Check.COMMIT_MISMATCH,
         alter("commits", of(FIRST, 1000), outcome="failed", error="CommitFailedException")),
    _lie("a client says that it had nothing to commit, and a commit is stored", Verb.ALTER,
         "commits", Check.COMMIT_MISMATCH,
         alter("commits", of(FIRST, 1000), outcome="nothing", offset=None)),
    _lie("another offset was asked for than is stored", Verb.SHIFT, "commits",
         Check.COMMIT_MISMATCH, alter("commits", of(FIRST, 1000), offset=plus("offset", -10))),
    _lie("another epoch was asked for than is stored", Verb.SHIFT, "commits",
         Check.COMMIT_MISMATCH, alter("commits", of(EARLIEST, 200), committed_epoch=0),
         story=TRUNCATION),
    _lie("a commit waited 60 s", Verb.SHIFT, "commits",
         Check.COMMIT_UNAVAILABLE,
         alter("commits", of(FIRST, 2000),
               committed_micros=plus("committed_micros", 60 * _SECOND))),
    _lie("a commit of an old generation was taken", Verb.ADD, "commits",
         Check.COMMIT_FROM_OLD_GENERATION, an_old_members_commit),
    _lie("a commit belongs to the generation before", Verb.ALTER, "commits",
         Check.COMMIT_FROM_OLD_GENERATION,
         alter("commits", of(FIRST, 2000), generation=1, member=f"{FIRST}#1")),
    _lie("a commit is acknowledged that was never stored", Verb.REPEAT, "commits",
         Check.LOST_COMMIT,
         repeat("commits", of(FIRST, 2000), offset=1999, seq=plus("seq", 1),
                began_micros=plus("committed_micros", 10_000),
                committed_micros=plus("committed_micros", 20_000))),
)  # fmt: skip
STORED = (
    _lie("a group committed within the branch that was left", Verb.REPEAT, "committed_offsets",
         Check.ORPHAN_COMMIT,
         repeat("committed_offsets", of(EARLIEST, 200), offset=150,
                offsets_offset=plus("offsets_offset", 1),
                committed_micros=plus("committed_micros", _SECOND // 10)),
         story=TRUNCATION, verdict=PERMITTED),
    _lie("an acknowledged commit is not stored", Verb.DROP, "committed_offsets",
         Check.LOST_COMMIT, drop("committed_offsets", of(FIRST, 2000))),
    _lie("an acknowledged commit is stored for another group", Verb.ALTER, "committed_offsets",
         Check.LOST_COMMIT, alter("committed_offsets", of(EARLIEST, 200), group=EPOCHLESS),
         story=TRUNCATION),
    _lie("an acknowledged commit is a tombstone", Verb.ALTER, "committed_offsets",
         Check.LOST_COMMIT,
         alter("committed_offsets", of(FIRST, 2000), is_tombstone=True, offset=None,
               committed_epoch=None)),
    _lie("an acknowledged commit is in no surviving replica", Verb.ALTER,
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
