"""Lies about what is known of the evidence: histories, servers, clocks, phases, segments."""

from typing import Any

from bench.lies.alone import FileLie, of_rows
from bench.lies.genuine import Row, Tables
from bench.lies.lie import Change, Verb, Where, alter, drop
from contract.checks import Check
from contract.ranges import row_schema
from contract.tables import MICROS_PER_SECOND
from contract.verdicts import CheckVerdict

_PERMITTED = (CheckVerdict.PERMITTED,)
_BROKER = 1


def of_role(role: str) -> Where:
    """The history of a role."""
    return lambda row: row["role"] == role


def of_server(row: Row) -> bool:
    """The files of one server."""
    return bool(row["server"] == _BROKER)


def add(table: str, **values: Any) -> Change:
    """Add a row."""

    def change(tables: Tables, _: object) -> None:
        tables[table].append({name: values.get(name) for name in row_schema(table).names})

    return change


def _lie(
    name: str,
    verb: Verb,
    of: str,
    change: Change,
    *,
    check: Check = Check.HISTORY_COMPLETE,
    verdicts: tuple[CheckVerdict, ...] = (CheckVerdict.UNDECIDED,),
) -> FileLie:
    return FileLie(
        name=name, verb=verb, of=of, check=check, change=of_rows(change), verdicts=verdicts
    )


def _history(name: str, role: str, **values: Any) -> FileLie:
    return _lie(
        f"the {role} {name}", Verb.ALTER, "histories", alter("histories", of_role(role), **values)
    )


ROLES = ("java_worker", "driver", "observer_worker")
EVIDENCE = (
    *(_history("lost three events", role, missing_seqs=3) for role in ROLES),
    *(_history("wrote a malformed line", role, malformed_lines=1) for role in ROLES),
    *(_history("ended by itself within a line", role, torn_lines=1) for role in ROLES),
    *(_history("did not end by itself", role, ended_by_itself=False) for role in ROLES),
    *(
        _lie(f"the {role} left no history", Verb.DROP, "histories",
             drop("histories", of_role(role)))
        for role in ROLES
    ),
    _lie("lines of a history are there twice", Verb.ALTER, "histories",
         alter("histories", of_role(ROLES[0]), duplicate_lines=2), verdicts=_PERMITTED),
    _lie("events have unknown fields", Verb.ALTER, "histories",
         alter("histories", of_role(ROLES[0]), unknown_fields=2), verdicts=_PERMITTED),
    _lie("a node's clock jumped by 2 s", Verb.SHIFT, "histories",
         alter("histories", of_role(ROLES[0]), clock_jump_micros=2 * MICROS_PER_SECOND),
         check=Check.CLOCK_SKEW),
    _lie("a node's clock jumped by 200 ms", Verb.SHIFT, "histories",
         alter("histories", of_role(ROLES[0]), clock_jump_micros=MICROS_PER_SECOND // 5),
         check=Check.CLOCK_SKEW, verdicts=_PERMITTED),
    _lie("two nodes' clocks are 2 s apart", Verb.SHIFT, "clocks",
         alter("clocks", ahead_micros=2 * MICROS_PER_SECOND), check=Check.CLOCK_SKEW),
    _lie("two nodes' clocks are 200 ms apart", Verb.SHIFT, "clocks",
         alter("clocks", ahead_micros=MICROS_PER_SECOND // 5), check=Check.CLOCK_SKEW,
         verdicts=_PERMITTED),
    _lie("a phase took ten minutes more", Verb.SHIFT, "phases",
         alter("phases", ended_micros=lambda row: row["ended_micros"] + 600 * MICROS_PER_SECOND),
         check=Check.PHASE_OVERRUN),
    _lie("no replica of a broker was collected", Verb.ALTER, "servers",
         alter("servers", of_server, replicas=0)),
    _lie("no line of a broker's log was collected", Verb.ALTER, "servers",
         alter("servers", of_server, log_lines=0)),
    _lie("nothing of a broker was collected", Verb.DROP, "servers", drop("servers", of_server)),
    _lie("a server's folder has unknown files", Verb.ALTER, "servers",
         alter("servers", of_server, ignored_files=3), verdicts=_PERMITTED),
    _lie("the rest of a segment does not read", Verb.ADD, "unread_segments",
         add("unread_segments", broker=1, topic="above", partition=0, segment="0.log",
             position_bytes=0, unread_bytes=512, error="CorruptRecordException")),
    _lie("the rest of the offsets topic does not read", Verb.ADD, "unread_segments",
         add("unread_segments", broker=1, topic="__consumer_offsets", partition=0,
             segment="0.log", position_bytes=0, unread_bytes=512, error="CorruptRecordException")),
    _lie("a segment's last batch was torn by a kill", Verb.ADD, "unread_segments",
         add("unread_segments", broker=1, topic="above", partition=0, segment="0.log",
             position_bytes=0, unread_bytes=512), verdicts=_PERMITTED),
)  # fmt: skip
