"""Lies about what producers sent."""

from random import Random

from bench.lies.genuine import Row, Tables
from bench.lies.lie import (
    VIOLATION,
    Change,
    Lie,
    Verb,
    Where,
    alter,
    drop,
    plus,
    repeat,
    swap,
    within,
)
from bench.lies.stories import BASELINE, TRUNCATION
from contract.checks import Check
from contract.tables import MICROS_PER_SECOND

A_RECORD = ("topic", "partition", "offset")
"""The columns that identify a record in every replica and delivery."""


def at_offsets(first: int, last: int) -> Where:
    """Rows at some offsets."""
    return within(first, last)


def never_written(row: Row) -> str:
    """A value like a row's, that no producer wrote."""
    return str(row["value"]).replace(":", ":9", 1)


def fail_last_values(tables: Tables, _: Random) -> None:
    """Add values that a producer gave up one after the other, for a minute."""
    last = max(tables["sends"], key=lambda row: row["sequence"])
    for number in range(1, 31):
        moment = last["answered_micros"] + number * 2 * MICROS_PER_SECOND
        tables["sends"].append(
            {
                **last,
                "sequence": last["sequence"] + number,
                "value": f"{last['producer']}:{last['sequence'] + number}:00000000",
                "offset": None,
                "outcome": "failed",
                "error": "NotEnoughReplicasException",
                "intended_micros": moment,
                "answered_micros": moment + 2 * MICROS_PER_SECOND,
            }
        )


def _send(name: str, verb: Verb, check: Check, change: Change, *, story: str = BASELINE) -> Lie:
    return Lie(
        name=name, verb=verb, table="sends", story=story, check=check, verdict=VIOLATION,
        change=change,
    )  # fmt: skip


SENDS = (
    _send(
        "a delivered value was never sent",
        Verb.DROP,
        Check.PHANTOM_RECORD,
        drop("sends", at_offsets(100, 900)),
    ),
    _send(
        "a value in the log is reported as surely failed",
        Verb.ALTER,
        Check.OUTCOME_MISMATCH,
        alter(
            "sends",
            at_offsets(100, 900),
            outcome="failed",
            error="RecordTooLargeException",
            offset=None,
        ),
    ),
    _send(
        "an acknowledgement names the offset of another value",
        Verb.SHIFT,
        Check.NONMONOTONIC_SEND,
        alter("sends", at_offsets(100, 900), offset=plus("offset", 2)),
    ),
    _send(
        "another value was acknowledged than the one in the log",
        Verb.ALTER,
        Check.LOST_RECORD,
        alter("sends", at_offsets(100, 900), value=never_written, sequence=plus("sequence", 90000)),
    ),
    _send(
        "one more value was acknowledged, beyond the log's end",
        Verb.REPEAT,
        Check.LOST_RECORD,
        repeat(
            "sends",
            at_offsets(1999, 1999),
            value=never_written,
            sequence=plus("sequence", 90000),
            offset=plus("offset", 1),
        ),
    ),
    _send(
        "two values of an idempotent producer swap their sequence numbers",
        Verb.SWAP,
        Check.NONMONOTONIC_SEND,
        swap("sends", at_offsets(100, 500), "sequence", by="offset"),
    ),
    _send(
        "two values swap their offsets in the acknowledgements",
        Verb.SWAP,
        Check.NONMONOTONIC_SEND,
        swap("sends", at_offsets(100, 500), "offset", by="sequence"),
    ),
    _send(
        "a value waited 60 s for its acknowledgement",
        Verb.SHIFT,
        Check.PRODUCE_UNAVAILABLE,
        alter(
            "sends",
            at_offsets(1500, 1900),
            answered_micros=plus("answered_micros", 60 * MICROS_PER_SECOND),
        ),
    ),
    _send(
        "the last values of a producer all failed for 60 s",
        Verb.ALTER,
        Check.STUCK_PRODUCER,
        fail_last_values,
    ),
    _send(
        "a value before a truncation is acknowledged five offsets later",
        Verb.SHIFT,
        Check.NONMONOTONIC_SEND,
        alter("sends", at_offsets(20, 40), offset=plus("offset", 5)),
        story=TRUNCATION,
    ),
)
