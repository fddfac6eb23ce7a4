"""Lies about what consumers were delivered."""

from random import Random
from typing import Any

from bench.lies.genuine import Row, Tables
from bench.lies.lie import (
    PERMITTED,
    VIOLATION,
    Change,
    Lie,
    Verb,
    Where,
    alter,
    alter_all,
    chosen,
    drop,
    drop_all,
    fitting,
    having,
    plus,
    repeat,
    swap,
    within,
    without,
)
from bench.lies.of_sends import never_written
from bench.lies.stories import BASELINE, EARLIEST, FIRST, SECOND, TRUNCATION
from contract.checks import Check
from contract.tables import MICROS_PER_SECOND

NOWHERE = "unknown:0:00000000"
A_POLL = ("member", "seq")
NEW = 3
"""The epoch of the records that took over, in TRUNCATION."""
_TIMES_OF_GROUPS = (
    ("polls", "polled_micros"),
    ("commits", "began_micros"),
    ("commits", "committed_micros"),
    ("committed_offsets", "committed_micros"),
    ("group_events", "at_micros"),
)


def of_group(group: str, first: int, last: int, **values: Any) -> Where:
    """Rows of a group at some offsets."""
    return within(first, last, group=group, **values)


def again_after(row: Row) -> int:
    """A place at the end of a poll."""
    return int(row["position_in_poll"]) + 100_000


def undelivered(where: Where) -> Change:
    """Drop a delivery, as if its poll had not returned the record."""

    def change(tables: Tables, random: Random) -> None:
        gone = chosen(tables, "polls", where, random)
        tables["polls"] = without(tables["polls"], gone)
        for row in tables["polls"]:
            is_of_poll = all(row[name] == gone[0][name] for name in A_POLL)
            if is_of_poll and row["position_in_poll"] > gone[0]["position_in_poll"]:
                row["position_in_poll"] -= 1

    return change


def value_of_another_offset(tables: Tables, random: Random) -> None:
    """Deliver at one offset the value of the next one, and the other way round."""
    one = chosen(tables, "polls", of_group(FIRST, 300, 600), random)[0]
    where = of_group(FIRST, one["offset"] + 1, one["offset"] + 1)
    other = chosen(tables, "polls", where, random)[0]
    one["value"], other["value"] = other["value"], one["value"]


def went_on_unaware(tables: Tables, random: Random) -> None:
    """Drop a group's notice of a truncation, and what it was delivered below its old position."""
    drop_all("resets", having(group=EARLIEST, cause="truncation"))(tables, random)
    drop_all("polls", of_group(EARLIEST, 0, 199, leader_epoch=NEW))(tables, random)


def waited(tables: Tables, _: Random) -> None:
    """Let all that a group did after its first poll be a minute later."""
    first = min(row["polled_micros"] for row in fitting(tables, "polls", having(group=FIRST)))
    for table, column in _TIMES_OF_GROUPS:
        for row in tables[table]:
            if row["group"] == FIRST and row[column] > first:
                row[column] += 60 * MICROS_PER_SECOND


def without_its_second_member(tables: Tables, random: Random) -> None:
    """Let a group end with its first member."""
    second = having(member=f"{FIRST}#2")
    for table in ("polls", "commits", "group_events"):
        drop_all(table, second)(tables, random)
    drop_all("committed_offsets", having(group=FIRST, offset=2000))(tables, random)


def delivered_late(tables: Tables, random: Random) -> None:
    """Deliver a group's first records after their epoch was over."""
    over = chosen(tables, "leaderships", having(topic="above", leader_epoch=NEW), random)[0]
    alter_all(
        "polls",
        having(member=f"{EARLIEST}#1"),
        polled_micros=over["at_micros"] + MICROS_PER_SECOND,
    )(tables, random)


def _poll(name: str, verb: Verb, check: Check, change: Change, *, story: str = BASELINE) -> Lie:
    return Lie(
        name=name, verb=verb, table="polls", story=story, check=check, verdict=VIOLATION,
        change=change,
    )  # fmt: skip


POLLS = (
    _poll(
        "one record was not delivered",
        Verb.DROP,
        Check.SKIPPED_RECORD,
        undelivered(of_group(FIRST, 100, 900)),
    ),
    _poll(
        "one record in the middle of a poll was not delivered",
        Verb.DROP,
        Check.POLL_SKIP,
        undelivered(of_group(FIRST, 100, 400)),
    ),
    _poll(
        "the records of a whole poll were not delivered",
        Verb.DROP,
        Check.SKIPPED_RECORD,
        drop("polls", of_group(FIRST, 600, 900), same=A_POLL),
    ),
    _poll(
        "a group's first 500 records were not delivered",
        Verb.DROP,
        Check.SKIPPED_RECORD,
        drop_all("polls", of_group(FIRST, 0, 499)),
    ),
    _poll(
        "a member's records after the group's commit were not delivered",
        Verb.DROP,
        Check.SKIPPED_RECORD,
        drop_all("polls", of_group(FIRST, 1000, 1099)),
    ),
    _poll(
        "a group was delivered nothing, and committed",
        Verb.DROP,
        Check.COMMIT_BEYOND_PROCESSED,
        drop_all("polls", of_group(FIRST, 0, 10_000)),
    ),
    _poll(
        "of two groups one was not delivered a record that the other was",
        Verb.DROP,
        Check.DIVERGENT_READERS,
        undelivered(of_group(SECOND, 100, 900)),
    ),
    _poll(
        "a record after a truncation was not delivered",
        Verb.DROP,
        Check.SKIPPED_RECORD,
        undelivered(of_group(EARLIEST, 220, 340)),
        story=TRUNCATION,
    ),
    _poll(
        "records that took over truncated offsets were not delivered",
        Verb.DROP,
        Check.SKIPPED_RECORD,
        drop_all("polls", of_group(EARLIEST, 100, 149, leader_epoch=NEW)),
        story=TRUNCATION,
    ),
    Lie(
        name="a record was delivered twice",
        verb=Verb.REPEAT,
        table="polls",
        story=BASELINE,
        check=Check.DUPLICATE_DELIVERY,
        verdict=VIOLATION,
        change=repeat("polls", of_group(FIRST, 100, 900), position_in_poll=again_after),
    ),
    _poll(
        "a record came again at the end of the poll",
        Verb.REPEAT,
        Check.NONMONOTONIC_POLL,
        repeat("polls", of_group(FIRST, 100, 400), position_in_poll=again_after),
    ),
    Lie(
        name="a poll's records were delivered again at the end",
        verb=Verb.REPEAT,
        table="polls",
        story=BASELINE,
        check=Check.REPROCESSING_AMPLIFICATION,
        verdict=PERMITTED,
        change=repeat("polls", of_group(FIRST, 100, 900), same=A_POLL, seq=plus("seq", 1)),
    ),
    _poll("a group waited 60 s for its next records", Verb.SHIFT, Check.FETCH_UNAVAILABLE, waited),
    Lie(
        name="a group never read the second half",
        verb=Verb.DROP,
        table="polls",
        story=BASELINE,
        check=Check.UNSEEN_RECORD,
        verdict=PERMITTED,
        change=without_its_second_member,
    ),
    Lie(
        name="a group's first records were delivered after an unclean election",
        verb=Verb.SHIFT,
        table="polls",
        story=TRUNCATION,
        check=Check.SERVED_UNDER_FENCED_EPOCH,
        verdict=PERMITTED,
        change=delivered_late,
    ),
    _poll(
        "two records of a poll came in the wrong order",
        Verb.SWAP,
        Check.NONMONOTONIC_POLL,
        swap("polls", of_group(FIRST, 100, 400), "position_in_poll", by="offset"),
    ),
    _poll(
        "two offsets were delivered with each other's values",
        Verb.SWAP,
        Check.INCONSISTENT_OFFSET,
        value_of_another_offset,
    ),
    _poll(
        "a value was delivered that no producer wrote",
        Verb.ALTER,
        Check.PHANTOM_RECORD,
        alter("polls", of_group(FIRST, 100, 900), value=never_written),
    ),
    _poll(
        "a delivered value differs from the one in the log",
        Verb.ALTER,
        Check.INCONSISTENT_OFFSET,
        alter("polls", of_group(FIRST, 100, 900), value=never_written),
    ),
    _poll(
        "of two groups one was delivered another value",
        Verb.ALTER,
        Check.DIVERGENT_READERS,
        alter("polls", of_group(SECOND, 100, 900), value=never_written),
    ),
    _poll(
        "a delivered value has a wrong checksum",
        Verb.ALTER,
        Check.CORRUPTED_RECORD,
        alter("polls", of_group(FIRST, 100, 900), value=NOWHERE, is_intact=False),
    ),
    _poll(
        "a delivered value is not intact",
        Verb.ALTER,
        Check.CORRUPTED_RECORD,
        alter("polls", of_group(EARLIEST, 0, 40), is_intact=False),
        story=TRUNCATION,
    ),
    _poll(
        "one delivery has a lower epoch than the one before",
        Verb.ALTER,
        Check.RECORD_EPOCH_REGRESSED,
        alter("polls", of_group(EARLIEST, 220, 340), leader_epoch=0),
        story=TRUNCATION,
    ),
    _poll(
        "one delivery has a higher epoch than the one after",
        Verb.ALTER,
        Check.RECORD_EPOCH_REGRESSED,
        alter("polls", of_group(EARLIEST, 60, 90), leader_epoch=3),
        story=TRUNCATION,
    ),
    _poll(
        "a delivery belongs to another group",
        Verb.ALTER,
        Check.SKIPPED_RECORD,
        alter("polls", of_group(FIRST, 100, 900), group=SECOND, member=f"{SECOND}#1"),
    ),
    _poll(
        "a delivery is one offset further",
        Verb.SHIFT,
        Check.INCONSISTENT_OFFSET,
        alter("polls", of_group(FIRST, 100, 900), offset=plus("offset", 1)),
    ),
    _poll(
        "all deliveries of a poll are one offset back",
        Verb.SHIFT,
        Check.INCONSISTENT_OFFSET,
        alter("polls", of_group(FIRST, 600, 900), same=A_POLL, offset=plus("offset", -1)),
    ),
    _poll(
        "a delivery is in another partition",
        Verb.ALTER,
        Check.SKIPPED_RECORD,
        alter("polls", of_group(FIRST, 100, 900), partition=1),
    ),
    _poll(
        "records after a truncation were delivered with other values",
        Verb.ALTER,
        Check.INCONSISTENT_OFFSET,
        alter_all("polls", of_group(EARLIEST, 310, 311), value=never_written),
        story=TRUNCATION,
    ),
    _poll(
        "a group without a reported truncation read on from its old position",
        Verb.DROP,
        Check.TRUNCATION_UNDETECTED,
        went_on_unaware,
        story=TRUNCATION,
    ),
)
