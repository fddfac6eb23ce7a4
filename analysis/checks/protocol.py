"""Whether brokers validate and report leader epochs on the wire as the documents say."""

from analysis.checks.base import CheckDefinition, CheckOutcome
from analysis.checks.responses import ERROR, OF_LEADERS, UNCOMPARED, outcome_of
from analysis.engine import functions as F  # noqa: N812 - Spark's own habit
from analysis.engine.columns import literal
from analysis.facts.load import Trace
from analysis.facts.wire import FENCED_LEADER_EPOCH, UNKNOWN_LEADER_EPOCH, wire_calls
from contract.protocol import VALIDATED, Rule

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
    Evaluates: every partition of a Fetch, ListOffsets and OffsetForLeaderEpoch with a response.
    Source: KIP-320, Leader Fetch Handling; `Partition.checkCurrentLeaderEpoch`.
    """
    rows = (
        wire_calls(trace)
        .where(f"api in ({_VALIDATED}) and error_code is not null")
        .withColumn("is_given", F.expr("coalesce(current_leader_epoch >= 0, false)"))
        .withColumn("is_refused", F.expr(f"error_code in ({_FENCED}, {_UNKNOWN})"))
        .withColumn(
            "rule",
            F.expr(f"""case
                when current_leader_epoch is null then {literal(Rule.VERSION_WITHOUT_EPOCH)}
                when not is_given then {literal(Rule.NO_EPOCH)}
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
    return outcome_of(rows)


def malformed_response(trace: Trace) -> CheckOutcome:
    """A response can't be decoded by the schema of its version, or lacks what was asked for.

    The kind is the rule of docs/protocol.md. Requests whose connection failed are left out.

    Evaluates: every partition that a request with a response asked about, and every response that
        could not be decoded.
    Source: KIP-320, Protocol Changes; the message schemas of Kafka's release.
    """
    is_malformed = "coalesce(failure like 'MalformedResponseError%', false)"
    rows = (
        trace["wire_calls"]
        .where(f"response is not null or {is_malformed}")
        .withColumn(
            "rule",
            F.expr(f"""if(api = 'OFFSET_FOR_LEADER_EPOCH' and response is not null
                and version >= {VALIDATED["OFFSET_FOR_LEADER_EPOCH"]}
                and coalesce(throttle_ms, -1) < 0,
                {literal(Rule.THROTTLE_TIME)}, {literal(Rule.SCHEMA)})"""),
        )
        .withColumn(
            "expected",
            F.expr(f"""case when rule = {literal(Rule.THROTTLE_TIME)} then 'a throttle time'
                when {is_malformed} then 'a response of its version'
                else 'every partition of the request' end"""),
        )
        .withColumn(
            "got",
            F.expr(f"""case
                when rule = {literal(Rule.THROTTLE_TIME)} then format_string('%s', throttle_ms)
                when failure is not null then failure
                else format_string('none of %s-%s', topic, partition) end"""),
        )
        .withColumn(
            "verdict",
            F.expr(f"""if(rule = {literal(Rule.THROTTLE_TIME)} or {is_malformed}
                or (topic is not null and error_code is null), 'violation', '')"""),
        )
    )
    return outcome_of(rows)


CHECKS = (
    CheckDefinition("P1", wrong_epoch_error, needs=OF_LEADERS),
    CheckDefinition("P5", malformed_response, needs=("wire_calls",)),
)
