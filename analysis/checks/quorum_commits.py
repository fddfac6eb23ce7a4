"""Whether the controllers commit and truncate their own log as Raft requires (KIP-595)."""

from analysis.checks.base import CheckDefinition, CheckOutcome, count
from analysis.checks.cases import Cases, findings, permitted, undecided, violation
from analysis.engine import functions as F  # noqa: N812 - Spark's own habit
from analysis.engine.columns import Window
from analysis.engine.frames import Frame
from analysis.facts.trace import Trace

_BATCH = ("base_offset", "last_offset", "metadata_epoch", "size_bytes", "checksum")
_MAJORITY = "element_at(sort_array(log_ends, false), cast(size(log_ends) div 2 as int) + 1)"
"""SQL: the offset up to which a majority of the voters has the log; the leader counts."""
_METADATA_TOPIC = "__cluster_metadata"


_LOSS = (
    "controller {leader} reported high watermark {high_watermark} in epoch {metadata_epoch}; at the"
    " end, servers {to_json(servers)}: {kind}, {got}"
)
_LOSSES = Cases(
    violation("overwritten", _LOSS),
    violation("truncated", _LOSS),
    violation("in no log", _LOSS),
    undecided("on a minority", _LOSS),
    evidence="servers, leader, metadata_epoch, high_watermark, got",
    offset_last="high_watermark - 1",
    at="at_micros",
)


def metadata_lost(trace: Trace) -> CheckOutcome:
    """Metadata that was committed is not in the metadata logs at the end.

    Committed is what lies below a high watermark that a leader reported. Its newest entry is of the
    leader's epoch. So a log that reaches the high watermark has an entry of that epoch just below
    it. What the leader's log held there before a fault was healed is in a log at the end.

    Undecided: a minority of the leader's voters has it at the end.
    Evaluates: every high watermark that a leader reported.
    Source: KIP-595; Raft, Leader Completeness; `LeaderState.maybeUpdateHighWatermark`.
    """
    committed = _committed(trace)
    against = trace.shared("committed_metadata", lambda: _against_logs(committed, trace))
    found = _overwritten(against).unionByName(_few(against)).unionByName(_removed(trace))
    return CheckOutcome(
        findings(found, _LOSSES),
        count(trace["quorum_samples"].where("high_watermark > 0")),
    )


_LOST = (
    "servers",
    "leader",
    "metadata_epoch",
    "high_watermark",
    "at_micros",
    "kind",
    "got",
)


def _committed(trace: Trace) -> Frame:
    """(leader, metadata_epoch, high_watermark, at_micros, voters): the highest of each epoch."""
    return (
        trace["quorum_samples"]
        .where("high_watermark > 0")
        .groupBy("leader", F.col("leader_epoch").alias("metadata_epoch"))
        .agg(
            F.max("high_watermark").alias("high_watermark"),
            F.expr("min_by(at_micros, struct(-high_watermark, at_micros))").alias("at_micros"),
            F.expr("min_by(voters, struct(-high_watermark, at_micros))").alias("voters"),
        )
    )


def _epoch_starts(trace: Trace) -> Frame:
    """(metadata_epoch, start): where each epoch began, by the entry of its leader."""
    columns = ("metadata_epoch", "base_offset", "leader")
    every = trace["metadata_batches"].select(*columns)
    return (
        every.unionByName(trace["cut_metadata_batches"].select(*columns))
        .where("leader is not null")
        .groupBy("metadata_epoch")
        .agg(F.min("base_offset").alias("start"))
    )


def _against_logs(committed: Frame, trace: Trace) -> Frame:
    """Each committed offset and each voter's log, with its end and the epoch below the offset."""
    batches = trace["metadata_batches"].selectExpr(
        "server", "base_offset", "last_offset", "metadata_epoch as found_epoch"
    )
    return (
        committed.crossJoin(batches)
        .where("array_contains(voters, server)")
        .groupBy("leader", "metadata_epoch", "high_watermark", "at_micros", "voters", "server")
        .agg(
            F.expr("max(last_offset) + 1").alias("log_end"),
            F.expr(
                "max_by(found_epoch, base_offset) filter (where base_offset < high_watermark)"
            ).alias("found_epoch"),
        )
        .join(_epoch_starts(trace), on="metadata_epoch", how="left")
    )


def _overwritten(against: Frame) -> Frame:
    """Logs that reach the offset with an entry of another epoch below it."""
    return (
        against.where("log_end >= high_watermark")
        .where(
            "found_epoch > metadata_epoch or (found_epoch < metadata_epoch"
            " and coalesce(start < high_watermark, true))"
        )
        .groupBy("leader", "metadata_epoch", "high_watermark", "at_micros", "found_epoch")
        .agg(F.sort_array(F.collect_set("server")).alias("servers"))
        .withColumn("kind", F.lit("overwritten"))
        .withColumn("got", F.format_string("epoch %s just below it", "found_epoch"))
        .select(*_LOST)
    )


def _few(against: Frame) -> Frame:
    """Committed offsets that the log of no voter reaches, or those of a minority."""
    return (
        against.withColumn("reaches", F.expr("log_end >= high_watermark"))
        .groupBy("leader", "metadata_epoch", "high_watermark", "at_micros", "voters")
        .agg(
            F.sort_array(F.collect_set(F.expr("if(reaches, server, null)"))).alias("servers"),
            F.count_if("reaches").alias("reached"),
        )
        .where("reached * 2 <= size(voters)")
        .withColumn("kind", F.expr("if(reached = 0, 'in no log', 'on a minority')"))
        .withColumn("got", F.format_string("of voters %s", F.to_json("voters")))
        .select(*_LOST)
    )


def _removed(trace: Trace) -> Frame:
    """Batches that a leader's log held below its high watermark, and that no log has at the end."""
    reported = trace["quorum_samples"].selectExpr(
        "server", "leader", "leader_epoch", "high_watermark", "at_micros"
    )
    return (
        trace["cut_metadata_batches"]
        .join(trace["metadata_batches"].select(*_BATCH), on=list(_BATCH), how="left_anti")
        .select("server", "last_offset", "metadata_epoch", "taken_micros")
        .join(reported, on="server", how="inner")
        .where("at_micros <= taken_micros and last_offset < high_watermark")
        .where("metadata_epoch <= leader_epoch")
        .groupBy("server", "leader", "leader_epoch")
        .agg(
            F.max("high_watermark").alias("high_watermark"),
            F.min("at_micros").alias("at_micros"),
            F.count_distinct("last_offset").alias("_batches"),
        )
        .withColumn("servers", F.array("server"))
        .withColumn("kind", F.lit("truncated"))
        .withColumn("got", F.format_string("%s batches that no log has", "_batches"))
        .withColumnRenamed("leader_epoch", "metadata_epoch")
        .select(*_LOST)
    )


_REPORTED = (
    "controller {leader} reported high watermark {high_watermark} in epoch {leader_epoch}, which"
    " began at offset {start}; of voters {to_json(voters)} the logs ended at {to_json(log_ends)}"
)
_EARLY = Cases(
    violation("before an entry of the epoch", _REPORTED, when="high_watermark <= start"),
    undecided("not on a majority", _REPORTED, when="high_watermark > majority and has_changed"),
    violation("not on a majority", _REPORTED, when="high_watermark > majority"),
    evidence="leader, leader_epoch, high_watermark, voters, log_ends, start",
    offset_last="high_watermark - 1",
    at="at_micros",
)


def early_high_watermark(trace: Trace) -> CheckOutcome:
    """A leader's high watermark was above what a majority has, or moved before its own epoch did.

    A leader reports its high watermark and how far each voter has fetched in one response. It is
    compared in each response in which the high watermark is higher than in the one before. A rule
    about the order in time can't be proved by samples: the result is that none refutes it.

    Undecided: the voters changed, or one of them lost its log, since the response before.
    Evaluates: every response of a leader with a high watermark.
    Source: KIP-595; `LeaderState.maybeUpdateHighWatermark`.
    """
    in_epoch = Window.partitionBy("server", "leader_epoch").orderBy("at_micros")
    sampled = (
        trace["quorum_samples"]
        .withColumn("_before", F.lag("high_watermark").over(in_epoch))
        .withColumn("_voters", F.lag("voters").over(in_epoch))
        .withColumn("_least", F.lag(F.expr("array_min(log_ends)")).over(in_epoch))
        .where("high_watermark >= 0")
        .withColumn("majority", F.expr(_MAJORITY))
        .join(
            _epoch_starts(trace).withColumnRenamed("metadata_epoch", "leader_epoch"),
            on="leader_epoch",
            how="left",
        )
    )
    moved = sampled.where("_before is null or high_watermark > _before").withColumn(
        "has_changed",
        F.expr(
            "coalesce(to_json(voters) != to_json(_voters) or array_min(log_ends) < _least, false)"
        ),
    )
    return CheckOutcome(
        findings(moved, _EARLY),
        count(sampled),
    )


_HELD = (
    "the metadata log of server {server} held epoch {epoch} from offset {departs} to {held_to - 1},"
    " where it has epochs {coalesce(to_json(epochs_there), '[]')} at the end: "
)
_TRUNCATED = _HELD + "truncated to {lowest} in {rounds} rounds"
_TRUNCATIONS = Cases(
    undecided("not logged", _HELD + "its server logged no truncation", when="lowest is null"),
    permitted("exact", _TRUNCATED, when="lowest = departs"),
    violation("too little", _TRUNCATED, when="lowest > departs"),
    undecided("too much, then less", _TRUNCATED, when="lowest < final_round"),
    violation("too much", _TRUNCATED),
    evidence="server, epoch, epochs_there, batches, rounds, lowest",
    offset_first="departs",
    offset_last="held_to - 1",
    at="coalesce(at_micros, taken_micros)",
)


def metadata_truncation(trace: Trace) -> CheckOutcome:
    """A server truncated its metadata log, or not where it departs from that of the leader.

    A log that departs from the leader's is truncated to the end of the largest epoch that both
    have, in as many rounds as it needs. Where it departs is known by its first entry that it held
    just before a fault on its server was healed, and does not hold at the end.

    Permitted: the lowest round ends where the log departs. The entries were not committed
        (`metadata_lost`).
    Undecided: no round is logged, or an earlier one was lower than the last.
    Evaluates: every copy of a metadata log that held such entries.
    Source: KIP-595, Fetch; `RaftLog.truncateToEndOffset`.
    """
    copies = (
        trace["cut_metadata_batches"]
        .groupBy("server", "taken_micros")
        .agg(
            F.min("base_offset").alias("departs"),
            F.expr("max(last_offset) + 1").alias("held_to"),
            F.min("metadata_epoch").alias("epoch"),
            F.count(F.lit(1)).alias("batches"),
        )
    )
    truncated = _rounds(copies, trace)
    judged = copies.join(truncated, on=["server", "taken_micros"], how="left").join(
        _successors(copies, trace), on=["server", "taken_micros"], how="left"
    )
    return CheckOutcome(
        findings(judged, _TRUNCATIONS),
        count(copies),
    )


def _rounds(copies: Frame, trace: Trace) -> Frame:
    """(server, taken_micros, lowest, final_round, rounds, at_micros): truncations after a copy.

    Those before the server's next copy, if there are any.
    """
    of_server = Window.partitionBy("server").orderBy("taken_micros")
    logged = (
        trace["truncations"]
        .where(f"topic = '{_METADATA_TOPIC}'")
        .selectExpr("broker as server", "to_offset", "at_micros")
    )
    return (
        copies.select("server", "taken_micros")
        .withColumn("_next", F.lead("taken_micros").over(of_server))
        .join(logged, on="server", how="inner")
        .where(f"at_micros >= taken_micros - {trace.clock_micros}")
        .withColumn("is_next", F.expr("coalesce(at_micros >= _next, false)"))
        .withColumn(
            "_has_some", F.min("is_next").over(Window.partitionBy("server", "taken_micros"))
        )
        .where("not is_next or _has_some")
        .groupBy("server", "taken_micros")
        .agg(
            F.min("to_offset").alias("lowest"),
            F.expr("max_by(to_offset, at_micros)").alias("final_round"),
            F.count(F.lit(1)).alias("rounds"),
            F.min("at_micros").alias("at_micros"),
        )
    )


def _successors(copies: Frame, trace: Trace) -> Frame:
    """(server, taken_micros, epochs_there): the epochs of a log at the end, where it departed."""
    at_end = trace["metadata_batches"].select("server", "base_offset", "metadata_epoch")
    return (
        copies.select("server", "taken_micros", "departs", "held_to")
        .join(at_end, on="server", how="inner")
        .where("base_offset >= departs and base_offset < held_to")
        .groupBy("server", "taken_micros")
        .agg(F.sort_array(F.collect_set("metadata_epoch")).alias("epochs_there"))
    )


CHECKS = (
    CheckDefinition(
        "G15", metadata_lost, needs=("quorum_samples", "metadata_batches"), cases=_LOSSES
    ),
    CheckDefinition("G16", early_high_watermark, needs=("quorum_samples",), cases=_EARLY),
    CheckDefinition(
        "G17", metadata_truncation, needs=("cut_metadata_batches",), cases=_TRUNCATIONS
    ),
)
