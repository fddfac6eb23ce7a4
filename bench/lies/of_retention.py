"""Lies about logs whose beginning was deleted, and what groups made of that."""

from functools import partial
from operator import itemgetter
from random import Random

from bench.lies.genuine import Tables
from bench.lies.lie import Lie, Verb, alter, fitting, having, plus, repeat
from bench.lies.of_replicas import batch, lose_batch, on
from bench.lies.stories import RETENTION
from contract.checks import Check
from contract.tables import MICROS_PER_SECOND

_lie = partial(Lie, story=RETENTION)
LAGGING = "lagging.earliest"
_LATE = 10 * MICROS_PER_SECOND


def lose_newest_batch(tables: Tables, random: Random) -> None:
    """Take the newest batch out of every replica: retention deletes the oldest ones."""
    newest = max(row["base_offset"] for row in fitting(tables, "replica_batches", on(1)))
    lose_batch(batch(newest, newest), 1, 2, 3, is_end=True)(tables, random)


def give_away_one_in_the_middle(tables: Tables, random: Random) -> None:
    """One record that the lagging group read after the retention is another group's."""
    rows = sorted(fitting(tables, "polls", having(member=f"{LAGGING}#2")), key=itemgetter("offset"))
    random.choice(rows[len(rows) // 3 : -len(rows) // 3]).update(
        group="current", member="current#1"
    )


DELETIONS = (
    _lie("a group was reset as out of range, from a position that retention left", Verb.SHIFT,
         "resets", Check.UNJUSTIFIED_RESET,
         alter("resets", having(group=LAGGING, cause="out_of_range"),
               from_offset=lambda row: row["to_offset"] + 200)),
    _lie("a leader's log start went back after retention", Verb.REPEAT, "samples",
         Check.RETENTION_OVERREACH,
         repeat("samples", lambda row: row["log_start_offset"] > 0,
                log_start_offset=plus("log_start_offset", -100),
                at_micros=plus("at_micros", _LATE), asked_micros=plus("asked_micros", _LATE))),
    _lie("a record that retention had deleted was delivered", Verb.REPEAT, "polls",
         Check.EXPIRED_READ,
         repeat("polls", having(member=f"{LAGGING}#2"), offset=500, seq=plus("seq", -1))),
    _lie("retention deleted beyond the high watermark", Verb.SHIFT, "samples",
         Check.RETENTION_OVERREACH,
         alter("samples", lambda row: row["log_start_offset"] > 0,
               log_start_offset=plus("log_end_offset", 5))),
    _lie("the newest batch is missing in every replica, and retention did not reach it",
         Verb.DROP, "replica_batches", Check.LOST_RECORD,
         lose_newest_batch),
    _lie("a record that retention left was not delivered", Verb.DROP, "polls",
         Check.SKIPPED_RECORD,
         give_away_one_in_the_middle),
)  # fmt: skip
