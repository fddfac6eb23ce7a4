"""Whether controllers answer requests about the metadata log as KIP-595 says."""

from analysis.checks.base import CheckDefinition, CheckOutcome
from analysis.checks.responses import ERROR, JUDGED, RESPONSES, outcome_of
from analysis.engine import functions as F  # noqa: N812 - Spark's own habit
from analysis.engine.columns import literal
from analysis.engine.frames import Frame
from analysis.facts.quorum_calls import elected, quorum_calls, with_ends
from analysis.facts.trace import Trace
from analysis.facts.wire import FENCED_LEADER_EPOCH, NOT_LEADER_OR_FOLLOWER, UNKNOWN_LEADER_EPOCH
from contract.quorum_rules import QuorumRule

_FENCED, _UNKNOWN, _OTHER = FENCED_LEADER_EPOCH, UNKNOWN_LEADER_EPOCH, NOT_LEADER_OR_FOLLOWER
_OLDER = "coalesce(current_leader_epoch < epoch_low, false)"
_NEWER = "coalesce(current_leader_epoch > epoch_high, false)"
_OWN = "coalesce(is_known and current_leader_epoch = epoch_low, false)"
_DIVERGES = "not coalesce(floor = asked_epoch and asked_offset <= end_low, false)"
_FITS = "coalesce(floor = asked_epoch and asked_offset <= end_high, false)"


def wrong_quorum_response(trace: Trace) -> CheckOutcome:
    """A controller accepted another epoch than its own, or returned another leader or divergence.

    The kind is the rule of docs/protocol.md. The controller's epoch is bounded by the metadata
    logs, by the reports of leaders and by its earlier responses.

    Undecided: the epoch changed meanwhile, or what the controller had is not known exactly.
    Evaluates: every Fetch, Vote, BeginQuorumEpoch and EndQuorumEpoch about the metadata log that
        has a response, by each rule that is about it. A Vote whose last entry is not of an older
        epoch than the candidate's is about none: it is an INVALID_REQUEST of any epoch.
    Source: KIP-595; `KafkaRaftClient.handleFetchRequest` and the handlers of the other requests.
    """
    return outcome_of(judged_quorum(trace))


def judged_quorum(trace: Trace) -> Frame:
    """Judge each response of a controller about the metadata log."""
    return trace.shared(
        "judged_quorum",
        lambda: (
            _fetches(trace)
            .unionByName(_divergences(trace))
            .unionByName(_elections(trace))
            .unionByName(_leaders(trace))
        ),
    )


def _fetches(trace: Trace) -> Frame:
    return (
        quorum_calls(trace)
        .where("api = 'FETCH' and error_code is not null")
        .withColumn(
            "rule",
            F.expr(f"""case when {_OLDER} then {literal(QuorumRule.OLDER_EPOCH)}
                when {_NEWER} then {literal(QuorumRule.NEWER_EPOCH)}
                when not leads then {literal(QuorumRule.NOT_LEADER)}
                when not is_voter then {literal(QuorumRule.NON_VOTER)}
                else {literal(QuorumRule.LEADER_EPOCH)} end"""),
        )
        .withColumn(
            "expected",
            F.expr(f"""case when {_OLDER} then 'error 74 (FENCED_LEADER_EPOCH)'
                when {_NEWER} then 'error 75 (UNKNOWN_LEADER_EPOCH)'
                when not leads then 'error 6 (NOT_LEADER_OR_FOLLOWER)'
                else 'error 0 (NONE)' end"""),
        )
        .withColumn("got", F.expr(ERROR))
        .withColumn(
            "verdict",
            F.expr(f"""case when {_OLDER} then if(error_code = {_FENCED}, '', 'violation')
                when {_NEWER} then if(error_code = {_UNKNOWN}, '', 'violation')
                when not {_OWN} then 'undecided'
                when not leads then if(error_code = {_OTHER}, '', 'violation')
                else if(error_code = 0, '', 'violation') end"""),
        )
        .select(*JUDGED)
    )


def _divergences(trace: Trace) -> Frame:
    """Judge each Fetch that the leader accepted, by the epochs of its log."""
    accepted = quorum_calls(trace).where(f"api = 'FETCH' and error_code = 0 and leads and {_OWN}")
    fits = "diverging_epoch < 0"
    diverges = (
        "diverging_epoch = floor and diverging_offset between end_low and end_high"
        " and coalesce(record_bytes, 0) <= 0"
    )
    return (
        with_ends(accepted, trace)
        .withColumn(
            "rule",
            F.expr(f"""if({_FITS}, {literal(QuorumRule.NO_DIVERGENCE)},
                {literal(QuorumRule.DIVERGENCE)})"""),
        )
        .withColumn(
            "expected",
            F.expr(f"""if({_FITS}, 'no divergence', format_string(
                'epoch %s with an end from %s to %s', floor, end_low, end_high))"""),
        )
        .withColumn(
            "got",
            F.expr("""if(diverging_epoch < 0, 'no divergence', format_string(
                'epoch %s with end %s, %s bytes', diverging_epoch, diverging_offset,
                coalesce(record_bytes, 0)))"""),
        )
        .withColumn(
            "verdict",
            F.expr(f"""case when log_start is null or log_start > 0 or asked_offset = 0
                    then 'undecided'
                when {_FITS} and {_DIVERGES} then
                    if({fits} or ({diverges}), 'undecided', 'violation')
                when {_FITS} then if({fits}, '', 'violation')
                else if({diverges}, '', 'violation') end"""),
        )
        .select(*JUDGED)
    )


def _elections(trace: Trace) -> Frame:
    """Judge each Vote, BeginQuorumEpoch and EndQuorumEpoch of an epoch that is not newer.

    A Vote whose last entry is not of an older epoch than the candidate's is none that a controller
    could send: it is refused with INVALID_REQUEST before its epoch is compared. That is so for any
    Vote of epoch 0, so that the rule has no case while a new quorum is in epoch 1.
    """
    is_granted = "response like '%\"voteGranted\":true%'"
    return (
        quorum_calls(trace)
        .where("api in ('VOTE', 'BEGIN_QUORUM_EPOCH', 'END_QUORUM_EPOCH')")
        .where("error_code is not null")
        .where("api != 'VOTE' or coalesce(asked_epoch < current_leader_epoch, true)")
        .withColumn(
            "rule",
            F.expr(f"""case api when 'VOTE' then {literal(QuorumRule.OLD_VOTE)}
                when 'BEGIN_QUORUM_EPOCH' then {literal(QuorumRule.OLD_BEGIN)}
                else {literal(QuorumRule.OLD_END)} end"""),
        )
        .withColumn("expected", F.lit("error 74 (FENCED_LEADER_EPOCH)"))
        .withColumn("got", F.expr(f"concat({ERROR}, if({is_granted}, ', granted', ''))"))
        .withColumn(
            "verdict",
            F.expr(f"""case when not {_OLDER} then 'undecided'
                when error_code = {_FENCED} and not {is_granted} then '' else 'violation' end"""),
        )
        .select(*JUDGED)
    )


def _leaders(trace: Trace) -> Frame:
    """Judge the leader and epoch of each response that has them."""
    known = elected(trace).selectExpr("metadata_epoch as epoch", "leader as _leader")
    return (
        quorum_calls(trace)
        .where("epoch is not null")
        .join(known.groupBy("epoch").agg(F.max("_leader").alias("_leader")), on="epoch", how="left")
        .withColumn("rule", F.lit(QuorumRule.CURRENT_LEADER))
        .withColumn(
            "expected",
            F.format_string(
                "an epoch from %s to %s and its leader, %s", "epoch_low", "epoch_high", "_leader"
            ),
        )
        .withColumn("got", F.format_string("epoch %s, leader %s", "epoch", "leader"))
        .withColumn(
            "verdict",
            F.expr("""case when epoch < epoch_low or epoch > epoch_high then 'violation'
                when coalesce(leader, -1) < 0 then ''
                when _leader is null then 'undecided'
                when leader = _leader then '' else 'violation' end"""),
        )
        .select(*JUDGED)
    )


CHECKS = (
    CheckDefinition(
        "P20",
        wrong_quorum_response,
        needs=("wire_calls", "metadata_batches"),
        cases=RESPONSES,
    ),
)
