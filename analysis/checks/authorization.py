"""Whether brokers authorize requests about leader epochs as their access control entries say."""

from analysis.checks.base import CheckDefinition, CheckOutcome
from analysis.checks.responses import ERROR, JUDGED, OF_LEADERS, RESPONSES, outcome_of
from analysis.engine import functions as F  # noqa: N812 - Spark's own habit
from analysis.engine.columns import literal
from analysis.engine.frames import Frame
from analysis.facts.permissions import with_permissions
from analysis.facts.trace import Trace
from analysis.facts.wire import wire_calls
from contract.protocol import Rule

_TOPIC_AUTHORIZATION_FAILED, _CLUSTER_AUTHORIZATION_FAILED = 29, 31


def wrong_authorization(trace: Trace) -> CheckOutcome:
    """A broker refused a permitted OffsetForLeaderEpoch, or responded to one that is not permitted.

    The kind is the rule of docs/protocol.md. A broker has applied an entry if it has accepted a
    leader epoch that is later in the metadata log.

    Undecided: the broker may not have applied an entry yet, or the principal has a denying one.
    Evaluates: every partition of an OffsetForLeaderEpoch with a response, on a connection with a
        login.
    Source: KIP-320, ACL Changes; `KafkaApis.handleOffsetForLeaderEpochRequest`.
    """
    return outcome_of(judged_authorizations(trace))


def judged_authorizations(trace: Trace) -> Frame:
    """Judge each OffsetForLeaderEpoch of a principal."""
    return trace.shared("judged_authorizations", lambda: _authorizations(trace).select(*JUDGED))


def _authorizations(trace: Trace) -> Frame:
    asked = wire_calls(trace).where(
        "api = 'OFFSET_FOR_LEADER_EPOCH' and principal is not null and error_code is not null"
    )
    refused = f"({_TOPIC_AUTHORIZATION_FAILED}, {_CLUSTER_AUTHORIZATION_FAILED})"
    return (
        with_permissions(asked, trace)
        .withColumn(
            "rule",
            F.expr(f"""case
                when may_act then {literal(Rule.CLUSTER_ACTION)}
                when may_describe then {literal(Rule.DESCRIBE)}
                else {literal(Rule.UNAUTHORIZED)} end"""),
        )
        .withColumn(
            "expected",
            F.expr(f"""if(rule = {literal(Rule.UNAUTHORIZED)},
                'error 29 (TOPIC_AUTHORIZATION_FAILED)', 'no error of the authorization')"""),
        )
        .withColumn("got", F.expr(ERROR))
        .withColumn(
            "verdict",
            F.expr(f"""case
                when is_denied then 'undecided'
                when rule = {literal(Rule.UNAUTHORIZED)}
                    then if(error_code = {_TOPIC_AUTHORIZATION_FAILED}, '', 'violation')
                when error_code not in {refused} then ''
                when acts or describes then 'violation'
                else 'undecided' end"""),
        )
    )


CHECKS = (CheckDefinition("P6", wrong_authorization, needs=(*OF_LEADERS, "acls"), cases=RESPONSES),)
