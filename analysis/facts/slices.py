"""Records in slices: ranges of records that every source of a run has whole, or not at all.

Sends, deliveries and replicas come as ranges (`contract.ranges`), and each source has ranges of its
own. Here all of them are split at the same offsets: where a range of any source begins or ends, and
at every offset that the run names otherwise, such as a log start or a commit. So what holds for the
first record of a slice holds for all of it, and a check may treat a slice as it would treat one
record: equal records are equal in `topic`, `partition`, `offset` and `value`. It only has to count
`records`, and to go on after `last_offset`.

A value that lies at several offsets is a slice of its own at each of them, so that slices with
equal values are equal too.

Every table of slices has the columns of its table, and those of a slice in place of those of a
range.
"""

from functools import reduce

from analysis.engine import functions as F  # noqa: N812 - Spark's own habit
from analysis.engine.columns import Window
from analysis.engine.frames import Frame
from analysis.facts.declared import LOG, SLICE, each, of_table
from analysis.facts.trace import IS_ACKNOWLEDGED, IS_UNACKNOWLEDGED, Trace, fact, view
from contract.ranges import RECORDS
from contract.table_columns import RANGE, Column, int32, int64, string
from contract.tables import TABLES

_LOG = ("topic", "partition")
_RANGE = tuple(column.name for column in RANGE)
_OF_RANGES = ("first_offset", "last_offset + 1")
_EDGES = {
    **dict.fromkeys(RECORDS, _OF_RANGES),
    "log_starts": ("log_start_offset", "log_end_offset", "high_watermark_checkpoint"),
    "log_start_changes": ("log_start_offset",),
    "samples": ("log_start_offset", "log_end_offset"),
    "epoch_checkpoints": ("start_offset",),
    "leader_epoch_starts": ("start_offset",),
    "truncations": ("to_offset",),
    "commits": ("offset - 1", "offset"),
    "committed_offsets": ("offset - 1", "offset"),
    "group_events": ("position - 1", "position", "divergent_offset - 1", "divergent_offset"),
    "replica_batches": tuple(
        f"if(is_transactional, {offset}, null)" for offset in ("base_offset", "last_offset + 1")
    ),
    "resets": ("from_offset - 1", "from_offset", "to_offset - 1", "to_offset"),
}
"""By table: the offsets before which a slice ends. Those of a record itself come in pairs, so that
it is a slice of one record."""
_VALUE = (
    string("producer"),
    int64("sequence", "of the first value"),
    string(
        "value",
        "`producer:sequence` of the first record; one that is not intact is in quotation marks",
    ),
)
_IDENTITY = """coalesce(
    concat('"', value, '"'), concat(producer, ':', cast(sequence as string))) as value"""


def _columns(table: str) -> tuple[Column, ...]:
    """The columns of slices of a table."""
    return (*of_table(table, *_others(table)), *SLICE, *_VALUE)


def _others(table: str) -> list[str]:
    """The columns of a table but those of its ranges."""
    return [name for name in TABLES[table].names if name not in _RANGE]


SENDS = _columns("sends")
"""Of slices of `sends`."""


@fact(*_columns("polls"))
def polls(trace: Trace) -> Frame:
    """Slices of `polls`."""
    return _split(trace, "polls", trace["polls"])


@view(*SENDS)
def sends(trace: Trace) -> Frame:
    """Slices of `sends`; one that was not acknowledged has no offset, and is a single value."""
    return acknowledged(trace).union(unacknowledged(trace))


@fact(*SENDS)
def acknowledged(trace: Trace) -> Frame:
    """Slices of `sends` that were acknowledged with an offset."""
    return _split(trace, "sends", trace.acknowledged)


@view(*SENDS)
def unacknowledged(trace: Trace) -> Frame:
    """Values of `sends` that were not acknowledged, or without an offset; each by itself."""
    rows = trace["sends"].where(IS_UNACKNOWLEDGED)
    single = rows.withColumn("sequence", F.expr("explode(sequence(first_sequence, last_sequence))"))
    return single.selectExpr(
        *_others("sends"),
        "first_offset + sequence - first_sequence as offset",
        "first_offset + sequence - first_sequence as last_offset",
        "cast(1 as bigint) as records",
        "producer",
        "sequence",
        _IDENTITY,
    )


@fact(*_columns("replica_records"))
def replica_records(trace: Trace) -> Frame:
    """Slices of `replica_records`."""
    return _split(trace, "replica_records", trace["replica_records"])


@fact(*_columns("cut_records"))
def cut_records(trace: Trace) -> Frame:
    """Slices of `cut_records`."""
    return _split(trace, "cut_records", trace["cut_records"])


@fact(*LOG, *SLICE, int32("leader_epoch"), string("value"))
def surviving(trace: Trace) -> Frame:
    """The log at the end.

    That is any surviving replica, at or above the log start: a segment keeps deleted records
    until all of it is deleted.
    """
    return (
        trace.kept(replica_records(trace))
        .select(*_LOG, "offset", "last_offset", "records", "leader_epoch", "value")
        .distinct()
    )


def given_at(points: Frame, trace: Trace) -> Frame:
    """Points with each delivery to their group at their offset.

    Adds its leader_epoch, at_micros, member and seq.

    Args:
        points: with group, topic, partition, offset; without these four.
        trace: the run.
    """
    by_offset = polls(trace).selectExpr(
        "group", *_LOG, "offset", "leader_epoch", "polled_micros as at_micros", "member", "seq"
    )
    return points.join(by_offset, on=["group", *_LOG, "offset"], how="inner")


def logged_at(points: Frame, trace: Trace) -> Frame:
    """(topic, partition, offset, leader_epoch): what the surviving log holds at points.

    Args:
        points: with topic, partition, offset.
        trace: the run.
    """
    wanted = points.select(*_LOG, "offset").distinct()
    held = surviving(trace).select(*_LOG, "offset", "leader_epoch")
    return held.join(wanted, on=[*_LOG, "offset"], how="left_semi")


def written_at(points: Frame, trace: Trace) -> Frame:
    """(topic, partition, offset): where a transaction wrote what the surviving log holds.

    Args:
        points: with topic, partition, offset.
        trace: the run.
    """
    wanted = points.select(*_LOG, "offset").distinct()
    values = surviving(trace).join(wanted, on=[*_LOG, "offset"], how="left_semi")
    written = sends(trace).where("transaction is not null").select("value")
    return values.join(written, on="value", how="left_semi").select(*_LOG, "offset").distinct()


def sliced(rows: Frame, trace: Trace, first: str, last: str) -> Frame:
    """Rows of ranges of offsets as rows of slices.

    Args:
        rows: with topic, partition and two columns of offsets.
        trace: the run.
        first: the column of the first offset. `_EDGES` must have what begins a range.
        last: the column of the last one, inclusive. `_EDGES` must have what ends a range.

    Returns:
        All columns, and of the slice `slice_first`, `slice_last` (inclusive) and `records`.
    """
    edges = _edges(trace)
    begin = edges.selectExpr(*_LOG, f"at as {first}", "place as _from")
    end = edges.selectExpr(*_LOG, f"at - 1 as {last}", "place as _to")
    each = edges.selectExpr(
        *_LOG, "place as _place", "at as slice_first", "next_at - 1 as slice_last"
    )
    return (
        rows.join(begin, on=[*_LOG, first])
        .join(end, on=[*_LOG, last])
        .withColumn("_place", F.expr("explode(sequence(_from, _to - 1))"))
        .join(each, on=[*_LOG, "_place"])
        .withColumn("records", F.expr("slice_last - slice_first + 1"))
        .drop("_from", "_to", "_place")
    )


def _split(trace: Trace, table: str, rows: Frame) -> Frame:
    return (
        sliced(rows, trace, "first_offset", "last_offset")
        .withColumn("sequence", F.expr("first_sequence + slice_first - first_offset"))
        .selectExpr(
            *_others(table),
            "slice_first as offset",
            "slice_last as last_offset",
            "records",
            "producer",
            "sequence",
            _IDENTITY,
        )
    )


@fact(*LOG, int64("at"), int32("place", "in the partition"), int64("next_at"))
def _edges(trace: Trace) -> Frame:
    """Where slices begin."""
    named = [
        trace.unrecorded(table).selectExpr(*_LOG, f"explode(array({', '.join(offsets)})) as at")
        for table, offsets in _EDGES.items()
    ]
    repeated = _repeated_sequences(trace)
    if not repeated.isEmpty():
        named.append(_of_each(_lines(trace), repeated))
    in_order = Window.partitionBy(*_LOG).orderBy("at")
    return (
        reduce(Frame.union, named)
        .where("at is not null")
        .distinct()
        .select(
            *_LOG,
            "at",
            F.row_number().over(in_order).alias("place"),
            F.lead("at").over(in_order).alias("next_at"),
        )
    )


@fact(string("producer"), int64("from_sequence"), int64("to_sequence"))
def _repeated_sequences(trace: Trace) -> Frame:
    """Values that lie at several offsets.

    A value without an offset counts as one at another offset.
    """
    of_producer = Window.partitionBy("producer").orderBy("first_sequence", "last_sequence")
    before = of_producer.rowsBetween(Window.unboundedPreceding, -1)
    return (
        _lines(trace)
        .withColumn("_until", F.max("last_sequence").over(before))
        .where("first_sequence <= _until")
        .selectExpr(
            "producer",
            "first_sequence as from_sequence",
            "least(last_sequence, _until) as to_sequence",
        )
        .distinct()
    )


@fact(
    string("producer"),
    *LOG,
    int64("shift", "offset less sequence; null without offset"),
    *each(int64, "first_sequence last_sequence"),
)
def _lines(trace: Trace) -> Frame:
    """Who has values where: one row for consecutive values of one shift."""
    line = ("producer", *_LOG, "shift")
    ranges = [
        trace.unrecorded(table)
        .where("producer is not null and value is null")
        .selectExpr(*line[:3], _shift_in(table), "first_sequence", "last_sequence")
        for table in RECORDS
    ]
    in_order = Window.partitionBy(*line).orderBy("first_sequence", "last_sequence")
    before = in_order.rowsBetween(Window.unboundedPreceding, -1)
    return (
        reduce(Frame.union, ranges)
        .distinct()
        .withColumn("_until", F.max("last_sequence").over(before))
        .withColumn("_is_new", F.expr("if(first_sequence <= _until + 1, 0, 1)"))
        .withColumn("_number", F.sum("_is_new").over(in_order))
        .groupBy(*line, "_number")
        .agg(
            F.min("first_sequence").alias("first_sequence"),
            F.max("last_sequence").alias("last_sequence"),
        )
    )


def _shift_in(table: str) -> str:
    shift = "first_offset - first_sequence"
    return (
        f"if({IS_ACKNOWLEDGED}, {shift}, null) as shift"
        if table == "sends"
        else f"{shift} as shift"
    )


def _of_each(lines: Frame, repeated: Frame) -> Frame:
    """(topic, partition, at): before and after each offset of a value that lies at several."""
    return (
        lines.where("shift is not null")
        .join(repeated, on="producer")
        .where("from_sequence <= last_sequence and to_sequence >= first_sequence")
        .selectExpr(
            *_LOG,
            "shift",
            "explode(sequence(greatest(first_sequence, from_sequence),"
            " least(last_sequence, to_sequence))) as _sequence",
        )
        .distinct()
        .selectExpr(*_LOG, "explode(array(_sequence + shift, _sequence + shift + 1)) as at")
    )
