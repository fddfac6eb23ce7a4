"""Whether brokers validate and report leader epochs on the wire as the documents say."""

from analysis.checks.base import CheckDefinition, CheckOutcome
from analysis.checks.responses import (
    BROKEN,
    ERROR,
    JUDGED,
    OF_LEADERS,
    RESPONSES,
    outcome_of,
)
from analysis.engine import functions as F  # noqa: N812 - Spark's own habit
from analysis.engine.columns import literal
from analysis.engine.frames import Frame
from analysis.facts.trace import Trace
from analysis.facts.wire import FENCED_LEADER_EPOCH, UNCOMPARED, UNKNOWN_LEADER_EPOCH, wire_calls
from contract.protocol import VALIDATED, Rule

_UNAUTHORIZED = 29
_FENCED, _UNKNOWN = FENCED_LEADER_EPOCH, UNKNOWN_LEADER_EPOCH
_VALIDATED = ", ".join(map(literal, VALIDATED))
_OLDER = "coalesce(current_leader_epoch < epoch_low, false)"
_NEWER = "coalesce(current_leader_epoch > epoch_high, false)"
_MAY_FENCE = "coalesce(current_leader_epoch < epoch_high, true)"
_MAY_REFUSE = "coalesce(current_leader_epoch > epoch_low, true)"
_MAY_ACCEPT = f"not {_OLDER} and not {_NEWER}"


def wrong_epoch_error(trace: Trace) -> CheckOutcome:
    """A broker accepted another leader epoch than its own, or refused its own, or none.

    The kind is the rule of docs/protocol.md. The broker's epoch is bounded by the metadata log, and
    by the epochs that it accepted before.

    Undecided: the epoch changed meanwhile, or the broker has not shown it yet, or it returned an
        error of the topic, of authorization or of its disk, which come first.
    Evaluates: every partition of a Fetch, ListOffsets and OffsetForLeaderEpoch with a response, but
        for those of a principal that is not authorized; and each refusal of a wrong epoch, by
        the exception of its error in the client library.
    Source: KIP-320, Leader Fetch Handling, API Changes; `Partition.checkCurrentLeaderEpoch`.
    """
    return outcome_of(judged_errors(trace).unionByName(judged_exceptions(trace)))


def judged_errors(trace: Trace) -> Frame:
    """Judge each response of an API that validates the leader epoch."""
    return _errors(trace).select(*JUDGED)


def _errors(trace: Trace) -> Frame:
    return trace.shared("judged_errors", lambda: _compared(trace))


def _compared(trace: Trace) -> Frame:
    return (
        wire_calls(trace)
        .where(f"api in ({_VALIDATED}) and error_code is not null")
        .where(f"principal is null or error_code != {_UNAUTHORIZED}")
        .withColumn("is_given", F.expr("coalesce(current_leader_epoch >= 0, false)"))
        .withColumn("is_refused", F.expr(f"error_code in ({_FENCED}, {_UNKNOWN})"))
        .withColumn(
            "rule",
            F.expr(f"""case
                when current_leader_epoch is null then {literal(Rule.VERSION_WITHOUT_EPOCH)}
                when not is_given then {literal(Rule.NO_EPOCH)}
                when leads and coalesce(asked_replica >= 0, false) and ({_OLDER} or {_NEWER})
                    then {literal(Rule.REPLICA)}
                when not leads and ({_OLDER} or {_NEWER}) then {literal(Rule.FOLLOWER)}
                when {_OLDER} then {literal(Rule.OLDER_EPOCH)}
                when {_NEWER} then {literal(Rule.NEWER_EPOCH)}
                else {literal(Rule.LEADER_EPOCH)} end"""),
        )
        .withColumn(
            "expected",
            F.expr(f"""case
                when not is_given or {_MAY_ACCEPT} then 'no error of the epoch'
                when {_OLDER} then 'error 74 (FENCED_LEADER_EPOCH)'
                else 'error 75 (UNKNOWN_LEADER_EPOCH)' end"""),
        )
        .withColumn("got", F.expr(ERROR))
        .withColumn(
            "verdict",
            F.expr(f"""case
                when not is_given then if(is_refused, 'violation', '')
                when error_code in ({UNCOMPARED}) then 'undecided'
                when error_code = {_FENCED} and not {_MAY_FENCE} then 'violation'
                when error_code = {_UNKNOWN} and not {_MAY_REFUSE} then 'violation'
                when not is_refused and not ({_MAY_ACCEPT}) then 'violation'
                when {_MAY_ACCEPT} and (is_refused or epoch_high is null) then 'undecided'
                else '' end"""),
        )
    )


def judged_exceptions(trace: Trace) -> Frame:
    """Judge each refusal of a wrong epoch by the exception that the client library has for it."""
    return (
        _errors(trace)
        .where(f"is_given and ({_OLDER} or {_NEWER}) and error_code not in (0, {UNCOMPARED})")
        .where("is_retriable is not null")
        .withColumn("rule", F.lit(Rule.RETRIABLE))
        .withColumn("expected", F.lit("a retriable exception"))
        .withColumn("got", F.expr(f"concat({ERROR}, if(is_retriable, '', ', not retriable'))"))
        .withColumn("verdict", F.expr("if(is_retriable, '', 'violation')"))
        .select(*JUDGED)
    )


def malformed_response(trace: Trace) -> CheckOutcome:
    """A response can't be decoded by the schema of its version, or lacks what was asked for.

    The kind is the rule of docs/protocol.md. Requests whose connection failed are left out.

    Evaluates: every partition that a request with a response asked about, and every response that
        could not be decoded; of OffsetForLeaderEpoch the throttle time, too.
    Source: KIP-320, Protocol Changes; the message schemas of Kafka's release.
    """
    return outcome_of(judged_schemas(trace))


def judged_schemas(trace: Trace) -> Frame:
    """Judge each response by its schema, and each OffsetForLeaderEpoch by its throttle time."""
    return trace.shared("judged_schemas", lambda: _decoded(trace).unionByName(_throttled(trace)))


def _decoded(trace: Trace) -> Frame:
    is_malformed = "coalesce(failure like 'MalformedResponseError%', false)"
    return (
        trace["wire_calls"]
        .where(f"client is null and (response is not null or {is_malformed})")
        .withColumn("rule", F.lit(Rule.SCHEMA))
        .withColumn(
            "expected",
            F.expr(f"""if({is_malformed}, 'a response of its version',
                'every partition of the request')"""),
        )
        .withColumn(
            "got", F.expr("coalesce(failure, format_string('none of %s-%s', topic, partition))")
        )
        .withColumn(
            "verdict",
            F.expr(f"""if({is_malformed} or (topic is not null and error_code is null),
                'violation', '')"""),
        )
        .select(*JUDGED)
    )


def _throttled(trace: Trace) -> Frame:
    first = VALIDATED["OFFSET_FOR_LEADER_EPOCH"]
    return (
        trace["wire_calls"]
        .where(f"api = 'OFFSET_FOR_LEADER_EPOCH' and version >= {first} and response is not null")
        .withColumn("rule", F.lit(Rule.THROTTLE_TIME))
        .withColumn("expected", F.lit("a throttle time"))
        .withColumn("got", F.format_string("%s", "throttle_ms"))
        .withColumn("verdict", F.expr("if(coalesce(throttle_ms, -1) < 0, 'violation', '')"))
        .select(*JUDGED)
    )


CHECKS = (
    CheckDefinition("P1", wrong_epoch_error, needs=OF_LEADERS, cases=RESPONSES),
    CheckDefinition("P5", malformed_response, needs=("wire_calls",), cases=(BROKEN,)),
)
