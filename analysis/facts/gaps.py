"""What a run's sources lack, and so which tables can't be relied on.

A check that reads such a table is undecided: what it misses may be in the gap, and what it accuses
may only look so. A history without its end, and a table that is missing or unreadable, leave the
whole run undecided. What is merely odd, and leaves no gap, is reported by `history_complete` alone.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise

from analysis.statements.files import computed
from analysis.statements.trace import Row, Trace
from contract.run_folder import GENERATED
from contract.software import version_of
from contract.table_columns import string
from contract.tables import DECLARED, MICROS_PER_SECOND, OFFSETS_TOPIC, TABLES
from contract.terms import TargetKind

ALL_TABLES = tuple(TABLES)
"""Of a gap after which nothing of the run can be relied on."""


@dataclass(frozen=True)
class Gap:
    """Something that is not there, and the tables that should have been made of it."""

    source: str
    tables: tuple[str, ...]
    reason: str
    is_in_history: bool = False
    """Of a history that is there, some lines."""


@dataclass(frozen=True)
class _Implied:
    """A table that has rows if another one has some that satisfy a condition.

    Attributes:
        table: that should have rows.
        by: the other one.
        where: SQL of its rows; empty for any.
        role: who writes a history in runs to which it applies; empty where servers were collected.
        rows: a fact: which rows of the other one count; empty: all.
    """

    table: str
    by: str
    where: str = ""
    role: str = ""
    rows: str = ""


_BY_DRIVER = ("faults", "phases", "notes", "waits", "clocks")
_BY_OBSERVER = ("samples", "group_samples", "quorum_samples", "transactions")
_BY_CLIENTS = (
    "sends",
    "polls",
    "poll_spans",
    "suspensions",
    "commits",
    "group_events",
    "transactions",
)
_BY_ANYBODY = (*_BY_DRIVER, *_BY_OBSERVER, *_BY_CLIENTS)
_OF_ROLES = {"driver": _BY_DRIVER, "observer_worker": _BY_OBSERVER}
"""What a history says; all other roles are clients."""
_OF_REPLICAS = ("replica_records", "replica_batches", "epoch_checkpoints", "log_starts")
_OF_LOGS = ("truncations", "leader_epoch_starts", "log_start_changes")
_OF_TOPICS = {
    OFFSETS_TOPIC: ("committed_offsets",),
    "__cluster_metadata": ("leaderships", "broker_states", "metadata_batches"),
}
"""What the segments of Kafka's own topics say."""
_KEPT_BY_GAPS = {"histories": ALL_TABLES, "servers": _OF_REPLICAS, "unread_segments": _OF_REPLICAS}
"""Tables from which gaps are known, and what can't be relied on without them."""
_CLIENTS = "clients"
"""Any role that is neither the driver's nor the observer's."""
_OF_CLIENT_LOGS = ("resets",)
_LOGS_ITS_END = "java"
"""The client that logs when a consumer is opened and closed (AppInfoParser), before its history
says so. librdkafka and kafka-python may be silent."""
_LAST_LOGGED = """
    select worker, max(at_micros) as until from group_events
    where change in ('opened', 'closed') group by worker
"""
_LOG_MICROS = MICROS_PER_SECOND // 2
"""A history may say so that much later than the log; in runs it was at most 0.1 s."""
_EDGE_MICROS = MICROS_PER_SECOND
"""Times lie within those of the run, by that much and the bound of the clocks."""
_HAS_RECORDS = "record_count > 0 and not coalesce(is_control, false)"
_IS_STORED = (
    "not is_tombstone and coalesce(producer_id, -1) < 0 "
    "and group not in (select group from planned_groups where is_by_client)"
)
"""By a client that reports its commits."""
_IS_ACKNOWLEDGED = "outcome = 'ok' and offset is not null"
_IS_LOGGED = "exception = 'LogTruncationException'"
"""The client logs the reset, or that it has no policy to reset by, before it raises."""
_IMPLIED = (
    _Implied("log_starts", by="leaderships"),
    _Implied("replica_batches", by="log_starts", where="log_end_offset > log_start_offset"),
    _Implied("replica_batches", by="replica_records"),
    _Implied("replica_records", by="replica_batches", where=_HAS_RECORDS),
    _Implied("epoch_checkpoints", by="replica_batches", where="leader_epoch >= 0"),
    _Implied("metadata_batches", by="leaderships"),
    _Implied("leaderships", by="log_starts"),
    _Implied("broker_states", by="leaderships"),
    _Implied("cut_records", by="cut_batches", where="record_count > 1"),
    _Implied("cut_batches", by="cut_records"),
    _Implied("sends", by="replica_records"),
    _Implied("group_events", by="polls", role=_CLIENTS),
    _Implied("group_events", by="commits", role=_CLIENTS),
    _Implied("resets", by="group_events", where=_IS_LOGGED, role=_CLIENTS),
    _Implied("polls", by="group_events", where="change = 'caught_up' and position > 0"),
    _Implied(
        "commits",
        by="committed_offsets",
        where=_IS_STORED,
        role=_CLIENTS,
        rows="client_offsets",
    ),
    _Implied("committed_offsets", by="commits", where=_IS_ACKNOWLEDGED),
    _Implied("transactions", by="sends", where="transaction is not null", role=_CLIENTS),
    _Implied("samples", by="leaderships", role="observer_worker"),
    _Implied("phases", by="histories", role="driver"),
    _Implied("clocks", by="phases", role="driver"),
)


def _times() -> Iterator[tuple[str, tuple[str, str]]]:
    for name, declared in DECLARED.items():
        times = [column.name for column in declared.columns if column.is_time]
        if len(times) == 1:
            yield name, (times[0], times[0])
        elif times:
            listed = ", ".join(times)
            yield name, (f"least({listed})", f"greatest({listed})")


_TIMES = dict(_times())
"""By table, the first and the last time of a row, in SQL."""


@dataclass(frozen=True)
class _Known:
    """What gaps are known from: rows of a run's tables.

    Attributes:
        of: the run.
        problems: why a table can't be used, by each that can't.
        histories: one for each history file; `incomplete` those that lack lines.
        kills: clients that faults killed.
        last_logged: when a client was opened or closed last, by worker.
        bounds: the first and the last time of a table.
        servers: what was collected of them.
        states: of brokers, by metadata offset.
        faults: that held a broker.
        unread: segments that could not be read.
        implied: tables that should have rows.
    """

    of: Trace
    problems: dict[str, str]
    histories: list[Row]
    incomplete: list[Row]
    kills: list[Row]
    last_logged: list[Row]
    bounds: list[Row]
    servers: list[Row]
    states: list[Row]
    faults: list[Row]
    unread: list[Row]
    implied: list[_Implied]
    clock_micros: int
    jump_micros: int

    @classmethod
    def ask(cls, trace: Trace) -> "_Known":
        """Read all of it at once."""
        problems = {table: trace.problem(table) for table in TABLES}
        timed = [_bounds(name) for name in _TIMES if trace.rows[name] and not problems[name]]

        def rows_of(table: str, more: str = "") -> list[Row]:
            return trace.ask(f"select * from {table} {more}", optional=(table,))

        histories = rows_of("histories")
        return cls(
            of=trace,
            problems={table: problem for table, problem in problems.items() if problem},
            histories=histories,
            incomplete=trace.ask("select * from incomplete_histories"),
            kills=rows_of("faults", "where fault = 'kill' and target_kind = 'client'"),
            last_logged=trace.ask(_LAST_LOGGED, regardless=("group_events",)),
            bounds=trace.ask_each(timed, regardless=tuple(_TIMES)),
            servers=rows_of("servers"),
            states=rows_of("broker_states", "order by metadata_offset"),
            faults=[] if problems["faults"] else trace.ask("select * from held_faults"),
            unread=rows_of("unread_segments", "where error is not null"),
            implied=list(_implied(trace, histories)),
            clock_micros=trace.clock_micros,
            jump_micros=trace.jump_micros,
        )


def gaps(trace: Trace) -> list[Gap]:
    """All that is known to be missing."""
    return trace.once("gaps", lambda: list(_found(_Known.ask(trace))))


@computed(string("source"), string("reason", "in words"))
def missing_sources(trace: Trace) -> Iterator[Row]:
    """What a run should have left and did not; of histories that are there see `histories`.

    Also what its description, its manifest and the absence of tables show, so it is found in
    Python.
    """
    for gap in gaps(trace):
        if not gap.is_in_history:
            yield {"source": gap.source, "reason": gap.reason}


def statements() -> Iterator[str]:
    """What is asked of every table."""
    return map(_bounds, _TIMES)


def doubts(trace: Trace) -> list[str]:
    """Why the run as a whole is undecided, in words."""
    reported = {gap.reason for gap in gaps(trace) if gap.tables == ALL_TABLES}
    return sorted((reported | {trace.problem(table) for table in TABLES}) - {""})


def reasons(found: Iterable[Gap], tables: set[str]) -> str:
    """Why these tables can't be relied on, in words; empty if they can."""
    return "; ".join(sorted({gap.reason for gap in found if tables & set(gap.tables)}))


def _found(known: _Known) -> Iterator[Gap]:
    for table, tables in _KEPT_BY_GAPS.items():
        if problem := known.problems.get(table):
            yield Gap(table, tables, problem)
    for alteration in known.of.alterations():
        yield Gap("manifest.json", ALL_TABLES, alteration)
    if known.of.run.cluster == GENERATED and not known.of.is_generated:
        reason = "run.json says that the history was generated, but the run has files of a cluster"
        yield Gap("run.json", ALL_TABLES, reason)
    yield from _in_histories(known.incomplete)
    yield from _without_end(known)
    yield from _missing_histories(known)
    yield from _client_logs(known)
    yield from _outside(known)
    yield from _servers(known)
    yield from _segments(known.unread)
    yield from _gaps_of_empty_tables(known)
    if any(row["role"] == "driver" for row in known.histories):
        for reason in _unexplained_restarts(known):
            yield Gap("faults", ALL_TABLES, reason)


def _in_histories(rows: list[Row]) -> Iterator[Gap]:
    for row in rows:
        lost = f"{row['missing_seqs']} events missing, {row['malformed_lines']} lines malformed"
        if row["malformed_at"]:
            lost += f" (the first: {row['malformed_at']})"
        role = row["role"]
        tables = _OF_ROLES.get(role, _BY_CLIENTS) if role else _BY_ANYBODY
        reason = f"history of {row['worker']}: {lost}"
        yield Gap(row["worker"], tables, reason, is_in_history=True)


def _without_end(known: _Known) -> Iterator[Gap]:
    """Histories whose worker did not say that it ended, unless a fault killed the worker.

    What the lines after the last one said is not known, nor how many there were.
    """
    endless = {row["worker"] for row in known.histories if row["ended_by_itself"] is False}
    for worker in sorted(endless - {row["worker"] for row in known.kills}):
        yield Gap(worker, ALL_TABLES, f"history of {worker}: its end is missing")


def _client_logs(known: _Known) -> Iterator[Gap]:
    """Logs of clients that end too early. What a line in the middle said can't be missed."""
    logs = [row for row in known.histories if row["log_lines"] is not None]
    ends = {row["worker"]: row for row in logs if row["client"] == _LOGS_ITS_END}
    for row in logs:
        if row["is_log_torn"] and row["ended_by_itself"]:
            reason = f"log of {row['worker']}: its last line has no end"
            yield Gap(row["worker"], _OF_CLIENT_LOGS, reason)
    for change in known.last_logged:
        if change["worker"] not in ends:
            continue
        row = ends[change["worker"]]
        until = row["log_until_micros"]
        if until is None:
            reason = f"log of {row['worker']}: there is none, though clients were opened and closed"
            yield Gap(row["worker"], _OF_CLIENT_LOGS, reason)
        elif until < change["until"] - _LOG_MICROS - known.jump_micros:
            seconds = (change["until"] - until) / MICROS_PER_SECOND
            reason = (
                f"log of {row['worker']}: it ends {seconds:.1f} s before the last opening or "
                "closing of a client, which the client logs"
            )
            yield Gap(row["worker"], _OF_CLIENT_LOGS, reason)


def _outside(known: _Known) -> Iterator[Gap]:
    """Tables with times before the run's start or after its end, beyond the bound of the clocks."""
    bound = known.clock_micros + _EDGE_MICROS
    start, end = known.of.run.started_micros - bound, known.of.run.ended_micros
    for row in known.bounds:
        if row["first"] is not None and row["first"] < start:
            yield _outside_by(row["name"], start + bound - row["first"], "before the run's start")
        if end is not None and row["last"] is not None and row["last"] > end + bound:
            yield _outside_by(row["name"], row["last"] - end, "after the run's end")


def _bounds(name: str) -> str:
    least, most = _TIMES[name]
    return f"select '{name}' as name, min({least}) as first, max({most}) as last from {name}"


def _outside_by(table: str, by_micros: int, where: str) -> Gap:
    seconds = by_micros / MICROS_PER_SECOND
    return Gap(table, (table,), f"table {table} has times up to {seconds:.1f} s {where}")


def _missing_histories(known: _Known) -> Iterator[Gap]:
    """Who should have written a history, and left none."""
    if known.of.is_generated:
        return
    rows = [row for row in known.histories if row["role"] is not None]
    if not rows:
        if known.servers:
            yield Gap("histories", ALL_TABLES, "no history was collected")
        return
    roles, clients = {row["role"] for row in rows}, {row["client"] for row in rows}
    workers = {name for row in rows for name in (row["worker"], row["worker"].rpartition("-")[0])}
    for role, tables in _OF_ROLES.items():
        if role not in roles:
            yield Gap(role, tables, f"there is no history of the {role}")
    for client in sorted({client for group in known.of.plan.groups for client in group.clients}):
        # A version has a worker of its name; Java's clients share one, whose client is `java`.
        is_there = any(named and client.startswith(named) for named in clients)
        if not (client in workers if version_of(client) else is_there):
            yield Gap(client, _BY_CLIENTS, f"there is no history of a {client} client")


def _servers(known: _Known) -> Iterator[Gap]:
    if not known.servers:
        if any(row["role"] == "driver" for row in known.histories):
            yield Gap("servers", (*_OF_REPLICAS, *_OF_LOGS), "no server's files were collected")
        return
    collected = {row["server"]: row for row in known.servers}
    for broker in sorted({row["broker"] for row in known.states}):
        row = collected.get(broker)
        if row is None or not row["replicas"]:
            yield Gap(
                f"broker {broker}",
                (*_OF_REPLICAS, "metadata_batches"),
                f"no replicas of broker {broker} were collected",
            )
        if row is None or not row["log_lines"]:
            yield Gap(f"broker {broker}", _OF_LOGS, f"no log of broker {broker}")


def _segments(unread: list[Row]) -> Iterator[Gap]:
    for row in unread:
        replica = f"{row['topic']}-{row['partition']} of broker {row['broker']}"
        yield Gap(
            replica,
            _OF_TOPICS.get(row["topic"], _OF_REPLICAS),
            f"{row['segment']} of {replica}: {row['error']}",
        )


def _gaps_of_empty_tables(known: _Known) -> Iterator[Gap]:
    for one in known.implied:
        reason = f"table {one.table} is empty, but table {one.by} implies rows of it"
        yield Gap(one.table, (one.table,), reason)


def _implied(trace: Trace, histories: list[Row]) -> Iterator[_Implied]:
    """The tables without rows that should have some."""
    if trace.is_generated:
        return
    roles = {row["role"] for row in histories} - {None}
    concerned = roles | ({_CLIENTS} if roles - {"driver", "observer_worker"} else set())
    if trace.rows["servers"]:
        concerned.add("")
    for implied in _IMPLIED:
        is_empty = not trace.rows[implied.table] and not trace.problem(implied.table)
        if is_empty and implied.role in concerned and _has_rows(trace, implied):
            yield implied


def _has_rows(trace: Trace, implied: _Implied) -> bool:
    if not trace.rows[implied.by]:
        return False
    if not implied.where:
        return True
    rows = f"select * from {implied.rows or implied.by} where {implied.where}"
    return bool(trace.query(rows, optional=(implied.by,)).table(limit=1).num_rows)


_STARTING_MICROS = 30 * MICROS_PER_SECOND
"""A broker registers at most this long after the heal that starts it."""


def _unexplained_restarts(known: _Known) -> Iterator[str]:
    """Brokers that registered again, with a new broker epoch, without a fault that restarts them.

    A process registers once. Only faults restart brokers, so the driver's history lacks one, and
    what else that fault did to the cluster is not known.
    """
    registered: dict[int, dict[int, int]] = {}
    for row in known.states:
        registered.setdefault(row["broker"], {}).setdefault(row["broker_epoch"], row["at_micros"])
    for broker, epochs in sorted(registered.items()):
        for before, at in pairwise(epochs.values()):
            if not _is_explained(known.faults, broker, before, at):
                when = datetime.fromtimestamp(at / MICROS_PER_SECOND, UTC)
                yield f"broker {broker} registered again at {when:%H:%M:%S} without a fault"


def _is_explained(faults: Sequence[Row], broker: int, before: int, at: int) -> bool:
    """Whether a fault held the broker between two registrations."""
    return any(
        fault["injected_micros"] is not None
        and fault["injected_micros"] <= at
        and (fault["ended_micros"] is None or fault["ended_micros"] + _STARTING_MICROS >= before)
        and _is_on(fault, broker)
        for fault in faults
    )


def _is_on(fault: Row, broker: int) -> bool:
    if fault["brokers"]:
        return broker in fault["brokers"]
    return bool(fault["target_kind"] == TargetKind.REPLICAS)
