"""Lies about members of groups and their resets."""

from functools import partial
from random import Random

from bench.lies.genuine import Tables
from bench.lies.lie import PERMITTED, UNDECIDED, Lie, Verb, Where, alter, chosen, drop, plus, repeat
from bench.lies.stories import BASELINE, EARLIEST, FIRST, FORCED, RAISING, TRUNCATION
from contract.checks import Check
from contract.tables import MICROS_PER_SECOND

_lie = partial(Lie, story=BASELINE)
_SECOND = MICROS_PER_SECOND


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


def of_cause(group: str, cause: str) -> Where:
    """Resets of a group."""
    return lambda row: (row["group"], row["cause"]) == (group, cause)


def another_owner(tables: Tables, random: Random) -> None:
    """Assign a partition to a second member of the generation, which is delivered records too."""
    one = chosen(tables, "group_events", event(FIRST, "assigned", 1), random)[0]
    other = f"{FIRST}#9"
    tables["group_events"].append({**one, "member": other, "at_micros": one["at_micros"] + 1000})
    polled = [row for row in tables["polls"] if row["member"] == one["member"]]
    tables["polls"] += [{**row, "member": other} for row in polled]


def a_false_truncation(tables: Tables, random: Random) -> None:
    """Let a member report a truncation in the middle of a branch that was not truncated."""
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


def a_truncation_at_the_end(tables: Tables, random: Random) -> None:
    """Let a member that had caught up on the surviving branch report a truncation of it."""
    reset = chosen(tables, "resets", of_cause(EARLIEST, "truncation"), random)[0]
    at_end = chosen(tables, "group_events", event(FORCED, "caught_up", 2), random)[0]
    tables["resets"].append(
        {
            **reset,
            **{name: at_end[name] for name in ("group", "member")},
            "from_offset": at_end["position"],
            "from_epoch": 3,
            "to_offset": at_end["position"] - 50,
            "to_epoch": 3,
            "at_micros": at_end["at_micros"] + _SECOND,
        }
    )


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
    _lie("a member reported a truncation of a branch that was not truncated", Verb.ADD,
         "group_events", Check.FALSE_TRUNCATION, a_false_truncation, story=TRUNCATION),
    _lie("a member never came to the log's end", Verb.ALTER, "group_events",
         Check.STUCK_CONSUMER,
         alter("group_events", event(FIRST, "caught_up", 2), change="stalled", position=1500)),
)  # fmt: skip
RESETS = (
    _lie("a member's reset after a truncation is not reported", Verb.DROP, "resets",
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
    _lie("a group whose commit names the leader's epoch was truncated", Verb.ADD, "resets",
         Check.FALSE_TRUNCATION, a_truncation_at_the_end, story=TRUNCATION),
    _lie("a member reports one reset more", Verb.ADD, "resets", Check.RESET, a_needless_reset,
         story=TRUNCATION, verdict=PERMITTED),
)  # fmt: skip
