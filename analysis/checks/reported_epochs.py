"""Whether brokers report leader epochs, and where they end, as their logs have them."""

from analysis.checks.base import CheckDefinition, CheckOutcome
from analysis.checks.responses import ERROR, JUDGED, OF_LEADERS, RESPONSES, outcome_of
from analysis.engine import functions as F  # noqa: N812 - Spark's own habit
from analysis.engine.columns import literal
from analysis.engine.frames import Frame
from analysis.facts.trace import Trace
from analysis.facts.wire import (
    FENCED_LEADER_EPOCH,
    NOT_LEADER_OR_FOLLOWER,
    OFFSET_OUT_OF_RANGE,
    UNCOMPARED,
    UNKNOWN_LEADER_EPOCH,
    wire_calls,
    with_cache,
)
from contract.protocol import (
    FIRST_WITH_LAST_FETCHED,
    FIRST_WITH_METADATA_EPOCH,
    OFFSETS_FOR_TIMES,
    VALIDATED,
    Rule,
)

_LOG = ("topic", "partition")
_OF_EPOCHS = (NOT_LEADER_OR_FOLLOWER, FENCED_LEADER_EPOCH, UNKNOWN_LEADER_EPOCH)
_NOT_SERVED = ", ".join((UNCOMPARED, *map(str, _OF_EPOCHS)))


def wrong_epoch_end(trace: Trace) -> CheckOutcome:
    """A leader returned another epoch or end offset than its epoch cache has.

    The kind is the rule of docs/protocol.md. The end of the latest epoch is compared with bounds:
    the high watermark before, and the end of the log after the run.

    Undecided: the leader's epoch, its log start or the start of an epoch is not known exactly.
    Evaluates: every partition of an OffsetForLeaderEpoch that a leader did not refuse because of
        its epoch.
    Source: KIP-101 and KIP-279, OffsetsForLeaderEpoch; `LeaderEpochFileCache.endOffsetFor`;
        KAFKA-19902, step 6.
    """
    return outcome_of(judged_ends(trace))


def judged_ends(trace: Trace) -> Frame:
    """Judge each OffsetForLeaderEpoch of a leader."""
    return trace.shared("judged_ends", lambda: _ends(trace).select(*JUDGED))


def _ends(trace: Trace) -> Frame:
    asked = wire_calls(trace).where(
        "api = 'OFFSET_FOR_LEADER_EPOCH' and leads and asked_epoch is not null"
        f" and error_code not in ({_NOT_SERVED})"
    )
    return (
        _with_ends(with_cache(asked, trace))
        .withColumn("expected", F.expr(f"format_string('epoch %s, end offset %s', due, {_BOUNDS})"))
        .withColumn(
            "got",
            F.expr(
                f"if(error_code = 0, format_string('epoch %s, end offset %s', epoch, offset),"
                f" {ERROR})"
            ),
        )
        .withColumn(
            "verdict",
            F.expr("""case
                when not is_decided then 'undecided'
                when error_code != 0 or coalesce(epoch != due, false) then 'violation'
                when offset is null or offset < due_low or coalesce(offset > due_high, false)
                    then 'violation'
                else '' end"""),
        )
    )


def wrong_diverging_epoch(trace: Trace) -> CheckOutcome:
    """A leader missed the divergence of a Fetch, or reported one that its epoch cache lacks.

    The kind is the rule of docs/protocol.md.

    Undecided: the leader's epoch, its log start, its log end or the start of an epoch is not known
        exactly.
    Evaluates: every partition of a Fetch with a last fetched epoch that a leader did not refuse
        because of its epoch.
    Source: KIP-595, Fetch; `Partition.readRecords`.
    """
    return outcome_of(judged_divergences(trace))


def judged_divergences(trace: Trace) -> Frame:
    """Judge each Fetch of a leader that has a last fetched epoch."""
    return trace.shared("judged_divergences", lambda: _divergences(trace).select(*JUDGED))


def _divergences(trace: Trace) -> Frame:
    asked = wire_calls(trace).where(
        f"api = 'FETCH' and version >= {FIRST_WITH_LAST_FETCHED} and leads and asked_epoch >= 0"
        f" and error_code not in ({_NOT_SERVED})"
    )
    return (
        _with_ends(with_cache(asked, trace))
        .withColumn(
            "rule",
            F.expr(f"""case
                when due < 0 then {literal(Rule.UNKNOWN_LAST_FETCHED)}
                when asked_offset < log_start then {literal(Rule.BELOW_LOG_START)}
                when due < asked_epoch or coalesce(due_high < asked_offset, false)
                    then {literal(Rule.DIVERGENCE)}
                else {literal(Rule.NO_DIVERGENCE)} end"""),
        )
        .withColumn(
            "is_decided",
            F.expr(
                f"is_decided and (rule != {literal(Rule.NO_DIVERGENCE)} or due_low >= asked_offset)"
            ),
        )
        .withColumn(
            "is_out",
            F.expr(
                f"rule in ({literal(Rule.UNKNOWN_LAST_FETCHED)}, {literal(Rule.BELOW_LOG_START)})"
            ),
        )
        .withColumn(
            "expected",
            F.expr(f"""case when is_out then 'error 1 (OFFSET_OUT_OF_RANGE)'
                when rule = {literal(Rule.DIVERGENCE)}
                    then format_string('diverging epoch %s, end offset %s', due, {_BOUNDS})
                else 'no diverging epoch' end"""),
        )
        .withColumn(
            "got",
            F.expr(f"""case when error_code != 0 then {ERROR}
                when coalesce(diverging_epoch, -1) < 0
                    then format_string('no diverging epoch, %s bytes', record_bytes)
                else format_string('diverging epoch %s, end offset %s, %s bytes', diverging_epoch,
                    diverging_offset, record_bytes) end"""),
        )
        .withColumn(
            "verdict",
            F.expr(f"""case
                when not is_decided then 'undecided'
                when is_out then if(error_code = {OFFSET_OUT_OF_RANGE}, '', 'violation')
                when error_code != 0 then 'violation'
                when rule = {literal(Rule.NO_DIVERGENCE)}
                    then if(coalesce(diverging_epoch, -1) >= 0, 'violation', '')
                when coalesce(diverging_epoch, -1) != due or coalesce(record_bytes, 0) > 0
                    then 'violation'
                when diverging_offset < due_low or coalesce(diverging_offset > due_high, false)
                    then 'violation'
                else '' end"""),
        )
    )


_BOUNDS = "concat(cast(due_low as string), if(coalesce(due_low = due_high, false), '', ' or more'))"


def _with_ends(asked: Frame) -> Frame:
    """Add rule, due (the epoch to be returned), due_low, due_high (its end offset), is_decided."""
    is_latest, is_unknown = "asked_epoch = known_epoch", "asked_epoch < 0 or asked_next is null"
    return (
        asked.withColumn(
            "rule",
            F.expr(f"""case
                when {is_latest} then {literal(Rule.END_OF_LATEST)}
                when {is_unknown} then {literal(Rule.END_OF_UNKNOWN)}
                when asked_floor is null then {literal(Rule.END_OF_REMOVED)}
                when asked_floor = asked_epoch then {literal(Rule.END_OF_KNOWN)}
                else {literal(Rule.END_OF_SKIPPED)} end"""),
        )
        .withColumn(
            "due",
            F.expr(f"""case
                when {is_latest} then asked_epoch
                when {is_unknown} then -1
                else coalesce(asked_floor, asked_epoch) end"""),
        )
        .withColumn(
            "due_low",
            F.expr(
                f"case when {is_latest} then end_low when {is_unknown} then -1 else asked_next end"
            ),
        )
        .withColumn(
            "due_high",
            F.expr(
                f"case when {is_latest} then end_high when {is_unknown} then -1 else asked_next end"
            ),
        )
        .withColumn(
            "is_decided",
            F.expr("is_known or coalesce(asked_epoch >= known_epoch or asked_epoch < 0, false)"),
        )
    )


def wrong_reported_epoch(trace: Trace) -> CheckOutcome:
    """A broker reported another leader epoch than the partition or the record has, or none.

    The kind is the rule of docs/protocol.md.

    Undecided: the leader's epoch, its log start or the start of an epoch is not known exactly, or
        no replica has the record at the end.
    Evaluates: every partition that a Metadata response has a leader of, every one of a ListOffsets
        response of a leader, at versions with the epoch, and every offset that `offsetsForTimes` of
        a client returned.
    Source: KIP-320, Metadata, ListOffsets and API Changes; `Partition.fetchOffsetForTimestamp`.
    """
    return outcome_of(judged_reports(trace))


def judged_reports(trace: Trace) -> Frame:
    """Judge Metadata responses with a leader, ListOffsets responses of leaders, clients' calls."""
    return trace.shared(
        "judged_reports",
        lambda: _led(trace).unionByName(_listed(trace)).unionByName(_looked_up(trace)),
    )


def _led(trace: Trace) -> Frame:
    """Metadata responses, with the leader that their epoch has in the metadata log."""
    led = trace["leaderships"].selectExpr(
        "topic", "partition", "leader_epoch as epoch", "leader as leader", "true as is_led"
    )
    where = ["topic", "partition", "epoch", "leader"]
    return (
        wire_calls(trace)
        .where(
            f"api = 'METADATA' and version >= {FIRST_WITH_METADATA_EPOCH} and error_code = 0"
            " and leader >= 0"
        )
        .join(led.distinct(), on=where, how="left")
        .withColumn("rule", F.lit(Rule.EPOCH_OF_LEADER))
        .withColumn(
            "expected",
            F.expr("format_string('the epoch of leader %s, at most %s', leader, epoch_high)"),
        )
        .withColumn("got", F.expr("format_string('epoch %s', epoch)"))
        .withColumn(
            "verdict",
            F.expr("""case
                when coalesce(epoch, -1) < 0 then 'violation'
                when epoch_high is null then 'undecided'
                when epoch > epoch_high or coalesce(epoch < epoch_low, false) or is_led is null
                    then 'violation'
                else '' end"""),
        )
        .select(*JUDGED)
    )


def _listed(trace: Trace) -> Frame:
    """ListOffsets responses of leaders: of the latest, the earliest, or an offset by time."""
    first = VALIDATED["LIST_OFFSETS"]
    asked = wire_calls(trace).where(
        f"api = 'LIST_OFFSETS' and version >= {first} and leads and error_code = 0"
        " and asked_timestamp >= -2 and offset is not null"
    )
    return (
        with_cache(asked, trace)
        .withColumn("rule", F.lit(Rule.EPOCH_OF_OFFSET))
        .withColumn(
            "due",
            F.expr("""case when asked_timestamp = -1 then known_epoch when offset < 0 then -1
                else offset_floor end"""),
        )
        .withColumn("expected", F.expr("format_string('epoch %s of offset %s', due, offset)"))
        .withColumn("got", F.expr("format_string('epoch %s', epoch)"))
        .withColumn(
            "verdict",
            F.expr("""case
                when coalesce(epoch, -1) < 0 and offset >= 0 then 'violation'
                when due is null or not (is_known or asked_timestamp = -1) then 'undecided'
                when coalesce(epoch, -1) != due then 'violation'
                else '' end"""),
        )
        .select(*JUDGED)
    )


def _looked_up(trace: Trace) -> Frame:
    """Offsets that clients found by a timestamp, with the epochs that replicas have there."""
    found = wire_calls(trace).where(f"api = {literal(OFFSETS_FOR_TIMES)} and offset is not null")
    held = trace.present("replica_records").selectExpr(
        *_LOG, "first_offset", "last_offset", "leader_epoch as _epoch"
    )
    epochs = (
        found.select("worker", "seq", *_LOG, "offset")
        .join(held, on=list(_LOG), how="inner")
        .where("offset between first_offset and last_offset")
        .groupBy("worker", "seq", *_LOG)
        .agg(F.sort_array(F.collect_set("_epoch")).alias("due"))
    )
    return (
        found.join(epochs, on=["worker", "seq", *_LOG], how="left")
        .withColumn("rule", F.lit(Rule.EPOCH_OF_OFFSET))
        .withColumn(
            "expected",
            F.expr("format_string('epoch %s of the record at offset %s', to_json(due), offset)"),
        )
        .withColumn("got", F.expr("format_string('epoch %s, by client %s', epoch, client)"))
        .withColumn(
            "verdict",
            F.expr("""case
                when due is null then 'undecided'
                when not coalesce(array_contains(due, epoch), false) then 'violation'
                else '' end"""),
        )
        .select(*JUDGED)
    )


CHECKS = (
    CheckDefinition("P2", wrong_epoch_end, needs=OF_LEADERS, cases=RESPONSES),
    CheckDefinition("P3", wrong_diverging_epoch, needs=OF_LEADERS, cases=RESPONSES),
    CheckDefinition("P4", wrong_reported_epoch, needs=OF_LEADERS, cases=RESPONSES),
)
