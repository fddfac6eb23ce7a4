"""Whether all that a run left could be read."""

import pyarrow as pa

from analysis.checks.base import CheckDefinition, CheckOutcome
from analysis.checks.cases import Cases, findings, permitted, undecided
from analysis.engine import functions as F  # noqa: N812 - Spark's own habit
from analysis.engine.frames import Frame
from analysis.facts.commits import stored_otherwise
from analysis.facts.gaps import INCOMPLETE, gaps
from analysis.facts.trace import Trace
from contract.errors import TableError

_SOURCES = pa.schema(
    {name: pa.string() for name in ("source", "topic", "kind", "cause")} | {"partition": pa.int32()}
)


def history_complete(trace: Trace) -> CheckOutcome:
    """A source of the run is missing, is incomplete or can't be read.

    Gaps or unreadable lines in a history; a history without its end; a missing history, folder of a
    server or rest of a segment; an empty table though others imply rows of it; a broker that
    restarted without a fault; a stored commit that no client reports.

    Permitted: a last line or batch that a kill left incomplete; a last commit that a killed worker
        did not report; duplicate lines; unknown fields and files.
    Undecided: all else, and so is each check that reads a table with a gap.
    Evaluates: every history and every server.
    Source: `analysis.facts.gaps`, decision 11.
    """
    histories = trace["histories"]
    return CheckOutcome(
        _incomplete(histories)
        .union(_odd(histories))
        .union(_sources(trace))
        .union(_unreported(trace)),
        trace.rows["histories"] + trace.rows["servers"],
    )


_INCOMPLETE = Cases(
    undecided(
        "incomplete history",
        "{worker}: {missing_seqs} events missing, {malformed_lines} lines malformed"
        "{coalesce(concat(', the first: ', malformed_at), '')}",
    ),
    evidence="worker, events, missing_seqs, torn_lines, malformed_lines, malformed_at",
)


def _incomplete(histories: Frame) -> Frame:
    return findings(histories.where(INCOMPLETE), _INCOMPLETE)


_ODD = Cases(
    permitted("line left incomplete by a kill", "{worker}: {count} {kind}"),
    permitted("duplicate lines", "{worker}: {count} {kind}"),
    permitted("unknown fields", "{worker}: {count} {kind}"),
    evidence="worker, count",
)


def _odd(histories: Frame) -> Frame:
    """What was counted and does no harm, one row a history and kind."""
    counted = {
        "line left incomplete by a kill": F.expr("if(ended_by_itself, 0, torn_lines)"),
        "duplicate lines": F.col("duplicate_lines"),
        "unknown fields": F.col("unknown_fields"),
    }
    each = [F.struct(F.lit(k).alias("kind"), n.alias("count")) for k, n in counted.items()]
    rows = histories.select("worker", F.explode(F.array(*each)).alias("_odd"))
    return findings(rows.select("worker", "_odd.kind", "_odd.count").where("count > 0"), _ODD)


def _sources(trace: Trace) -> Frame:
    """Files of servers, and whole histories: few, and most often none."""
    rows: list[dict[str, str | int | None]] = [
        {"source": gap.source, "kind": "missing", "cause": gap.reason}
        for gap in gaps(trace)
        if not gap.is_in_history
    ]
    if trace.rows["unread_segments"]:
        rows += [
            {
                "source": row["segment"],
                "topic": row["topic"],
                "partition": row["partition"],
                "kind": "batch left incomplete by a kill",
                "cause": f"broker {row['broker']}: the last {row['unread_bytes']} bytes of"
                f" {row['segment']} are an incomplete batch",
            }
            for row in trace["unread_segments"].where("error is null").collect()
        ]
    if trace.rows["servers"]:
        odd = trace["servers"].where("server is null or ignored_files > 0")
        rows += [
            {
                "source": row["name"],
                "kind": "unknown files",
                "cause": f"{row['name']}: {row['ignored_files']} files left out"
                if row["server"] is not None
                else f"{row['name']} belongs to no server of the run",
            }
            for row in odd.collect()
        ]
    return _sources_of(trace, rows)


_FILES = Cases(
    undecided("missing", "{cause}"),
    permitted("batch left incomplete by a kill", "{cause}"),
    permitted("unknown files", "{cause}"),
    evidence="source",
)


def _sources_of(trace: Trace, rows: list[dict[str, str | int | None]]) -> Frame:
    return findings(trace.engine.table(pa.Table.from_pylist(rows, schema=_SOURCES)), _FILES)


_NOT_REPORTED = (
    "offset {stored_offset} with epoch {stored_epoch} is stored, but no client reported this commit"
)
_UNREPORTED = Cases(
    permitted("last commit of a killed worker", _NOT_REPORTED, when="stored_micros > last_micros"),
    undecided("commit not reported", _NOT_REPORTED),
    evidence="stored_offset, stored_epoch, last_micros",
    offset_first="stored_offset",
    offset_last="stored_offset",
    at="stored_micros",
)


def _unreported(trace: Trace) -> Frame:
    """Stored commits that no client reports; a killed worker may have left its last one so."""
    try:
        stored = stored_otherwise(trace).where("kind is null").drop("kind")
        reported = trace["commits"].select("worker", "group", "committed_micros")
    except TableError:
        # The checks of commits name the table.
        return _sources_of(trace, [])
    killed = trace["histories"].where("not ended_by_itself").select("worker")
    last = (
        reported.join(killed, on="worker", how="left_semi")
        .groupBy("group", "worker")
        .agg(F.max("committed_micros").alias("last_micros"))
        .groupBy("group")
        .agg(F.min("last_micros").alias("last_micros"))
    )
    return findings(stored.join(last, on="group", how="left"), _UNREPORTED)


CHECKS = (
    CheckDefinition(
        "M4",
        history_complete,
        needs=("histories",),
        cases=(*_INCOMPLETE, *_ODD, *_FILES, *_UNREPORTED),
    ),
)
