"""Whether coordinators accept and refuse commits on the wire as the documents say."""

from analysis.checks.base import CheckDefinition, CheckOutcome, count
from analysis.checks.cases import Cases, findings, permitted
from analysis.checks.responses import JUDGED, RESPONSES
from analysis.engine import functions as F  # noqa: N812 - Spark's own habit
from analysis.engine.columns import Window, literal
from analysis.engine.frames import Frame
from analysis.facts.commit_calls import commit_calls
from analysis.facts.trace import Trace
from contract.commit_rules import (
    COMMIT,
    FIRST_WITH_GROUP_ERRORS,
    FIRST_WITH_MEMBER_EPOCHS,
    OFFSET_FETCH,
    TXN_COMMIT,
    CommitRule,
)

OF_COMMITS = ("wire_calls", "leaderships", "committed_offsets")
"""The tables that the checks of committed offsets need."""
_ERRORS = {
    0: "NONE",
    3: "UNKNOWN_TOPIC_OR_PARTITION",
    12: "OFFSET_METADATA_TOO_LARGE",
    22: "ILLEGAL_GENERATION",
    25: "UNKNOWN_MEMBER_ID",
    27: "REBALANCE_IN_PROGRESS",
    35: "UNSUPPORTED_VERSION",
    47: "INVALID_PRODUCER_EPOCH",
    48: "INVALID_TXN_STATE",
    49: "INVALID_PRODUCER_ID_MAPPING",
    69: "GROUP_ID_NOT_FOUND",
    82: "FENCED_INSTANCE_ID",
    88: "UNSTABLE_OFFSET_COMMIT",
    90: "PRODUCER_FENCED",
    100: "UNKNOWN_TOPIC_ID",
    113: "STALE_MEMBER_EPOCH",
}
_NOT_COMPARED = "7, 13, 14, 15, 16, 29, 30, 51, 53"
"""Errors that come first: of coordinators that are not ready, timeouts and authorization."""
_OF_TRANSACTIONS = "48, 49"
"""INVALID_TXN_STATE and INVALID_PRODUCER_ID_MAPPING: no request shows the transaction's state."""
_FENCED = "47, 90"
_OF_INSTANCES = "25, 82"
"""UNKNOWN_MEMBER_ID and FENCED_INSTANCE_ID: no record shows who has a group.instance.id."""
_REBALANCING = 27
_NO_ERROR = 0
_METADATA_MAX = "offset.metadata.max.bytes"


def error_name(column: str) -> str:
    """SQL: an error in words, such as `error 3 (UNKNOWN_TOPIC_OR_PARTITION)`."""
    cases = " ".join(
        f"when {number} then 'error {number} ({name})'" for number, name in _ERRORS.items()
    )
    return f"case {column} {cases} else concat('error ', cast({column} as string)) end"


def wrong_commit_error(trace: Trace) -> CheckOutcome:
    """A coordinator accepted a commit that it has to refuse, or refused it with another error.

    The kind is the rule of docs/protocol.md. Topics are those of the metadata log; groups, members
    and their epochs those of `__consumer_offsets`, and of earlier responses of their coordinator.

    Permitted: a release before 4.0, whose groups are of an older coordinator, returns
        ILLEGAL_GENERATION or UNKNOWN_MEMBER_ID for a group that there is not.
    Undecided: the topic, the group or the member changed meanwhile, or the coordinator returned an
        error of its own state, of the transaction's or of authorization, which come first, or of a
        rebalance or a group.instance.id, which no source reports.
    Evaluates: every partition of an OffsetCommit and a TxnOffsetCommit with a response, and every
        unknown topic id of an OffsetFetch.
    Source: KIP-1319, Broker-Side; KIP-447; KIP-848; KIP-890; `ClassicGroup.validateOffsetCommit`,
        `ConsumerGroup.validateOffsetCommit`.
    """
    rows = judged_commits(trace)
    return CheckOutcome(findings(rows, ERRORS), count(rows))


ERRORS = Cases(
    *RESPONSES,
    permitted(
        "{rule}",
        "{api} version {version} to broker {broker}: expected {expected}, got {got}, as"
        " coordinators before Kafka 4.0 do",
        when="verdict = 'permitted'",
    ),
    evidence=RESPONSES.evidence,
    **RESPONSES.where,
)
"""A rule that a response breaks, or that older releases do not follow."""


def judged_commits(trace: Trace) -> Frame:
    """Judge each partition of a commit with a response."""
    return trace.shared("judged_commits", lambda: _commits(trace))


def _commits(trace: Trace) -> Frame:
    ruled = ruled_commits(trace).where("rule is not null")
    of_request = Window.partitionBy("worker", "seq")
    refusing = ", ".join(map(literal, _REFUSING))
    in_words = (
        ruled.withColumn(
            "_is_refused", F.max(F.expr(f"int(rule in ({refusing}))")).over(of_request)
        )
        .withColumn("expected", F.expr(f"if(due is null, 'no error', {error_name('due')})"))
        .withColumn("got", F.expr(error_name("error_code")))
        .withColumn("verdict", F.expr(_verdict(trace)))
    )
    first = in_words.where(f"_is_refused = 1 and rule in ({_OF_TOPICS})").withColumn(
        "rule", F.lit(CommitRule.TOPICS_FIRST)
    )
    return in_words.select(*JUDGED).unionByName(first.select(*JUDGED))


def ruled_commits(trace: Trace) -> Frame:
    """`commit_calls` with the rule of each, the error that is due (null: none), and is_decided."""
    return trace.shared("ruled_commits", lambda: _ruled(trace))


def _ruled(trace: Trace) -> Frame:
    """A member epoch that is stale for one partition refuses all others of its request, too."""
    of_request = Window.partitionBy("worker", "seq")
    settings = trace.run.config.get("settings", {})
    is_too_large = f"length(metadata) > {int(settings.get(_METADATA_MAX, 4096))}"
    return (
        commit_calls(trace)
        .withColumn("_by_group", F.expr(f"version >= {_SINCE}"))
        .withColumn(
            "_is_static", F.expr('coalesce(request rlike \'"groupInstanceId": *"\', false)')
        )
        .withColumn(
            "_is_member",
            F.expr("coalesce(generation, -1) >= 0 or coalesce(member, '') != '' or _is_static"),
        )
        .withColumn("seen", F.expr(_SEEN))
        .withColumn("_is_stale", F.max(F.expr("int(seen = 'consumer')")).over(of_request))
        .withColumn("seen", F.expr("if(seen = 'accepted' and _is_stale = 1, 'consumer', seen)"))
        .withColumn("rule", F.expr(_RULE))
        .withColumn("due", F.expr(f"if(seen = 'accepted' and {is_too_large}, 12, {_DUE})"))
        .withColumn("is_decided", F.expr("seen != 'unknown'"))
    )


_SINCE = (
    f"case api when {literal(COMMIT)} then {FIRST_WITH_GROUP_ERRORS[COMMIT]}"
    f" else {FIRST_WITH_GROUP_ERRORS[TXN_COMMIT]} end"
)
_IS_TXN = f"api = {literal(TXN_COMMIT)}"
_SEEN = f"""case
    when asked_id != '' and not may_exist then 'no id'
    when api = {literal(OFFSET_FETCH)} then null
    when not may_exist or not may_have_partition then 'no partition'
    when not is_present or not has_partition then 'unknown'
    when {_IS_TXN} and is_old_producer then 'old producer'
    when {_IS_TXN} and may_be_old_producer then 'unknown'
    when not _is_member and {_IS_TXN} then 'accepted'
    when coalesce(generation, -1) < 0 and not may_have_members then 'accepted'
    when not _is_member and has_members then 'no member'
    when coalesce(generation, -1) < 0 and not has_members then 'unknown'
    when not may_have_group then 'no group'
    when not has_group then 'unknown'
    when not may_have_member or is_gone then 'no member'
    when not has_member or may_be_gone or protocol is null then 'unknown'
    when protocol = 'consumer' and not {_IS_TXN} and not _by_group then 'no version'
    when generation > generation_high then protocol
    when generation < generation_low and protocol = 'classic' then protocol
    when generation < generation_low and generation_low < generation_high then 'unknown'
    when generation < generation_low and generation >= assignment_epoch then 'accepted'
    when generation < generation_low then protocol
    when generation_low = generation_high then 'accepted'
    else 'unknown' end"""
_RULE = f"""case seen
    when 'no id' then {literal(CommitRule.UNKNOWN_TOPIC_ID)}
    when 'no partition' then {literal(CommitRule.UNKNOWN_PARTITION)}
    when 'old producer' then {literal(CommitRule.OLDER_PRODUCER_EPOCH)}
    when 'no group' then if(_by_group, {literal(CommitRule.GROUP_NOT_FOUND)},
        {literal(CommitRule.GROUP_NOT_FOUND_BEFORE)})
    when 'no member' then {literal(CommitRule.UNKNOWN_MEMBER)}
    when 'no version' then {literal(CommitRule.STALE_MEMBER_EPOCH_BEFORE)}
    when 'consumer' then if(_by_group, {literal(CommitRule.STALE_MEMBER_EPOCH)},
        {literal(CommitRule.STALE_MEMBER_EPOCH_BEFORE)})
    when 'classic' then {literal(CommitRule.OTHER_GENERATION)}
    when 'accepted' then {literal(CommitRule.ACCEPTED_COMMIT)}
    when 'unknown' then {literal(CommitRule.ACCEPTED_COMMIT)}
    else null end"""
_DUE = """case seen
    when 'no id' then 100
    when 'no partition' then 3
    when 'old producer' then 47
    when 'no group' then if(_by_group, 69, 22)
    when 'no member' then 25
    when 'no version' then 35
    when 'consumer' then if(_by_group, 113, 22)
    when 'classic' then 22
    else null end"""
_IS_IN_STATE = f"not {_IS_TXN} and _is_member and coalesce(due = 12, true)"
"""A classic group that waits for its assignment refuses what it would accept."""
_OF_TOPICS = ", ".join(map(literal, (CommitRule.UNKNOWN_TOPIC_ID, CommitRule.UNKNOWN_PARTITION)))
_REFUSING = (
    CommitRule.OLDER_PRODUCER_EPOCH,
    CommitRule.GROUP_NOT_FOUND,
    CommitRule.GROUP_NOT_FOUND_BEFORE,
    CommitRule.STALE_MEMBER_EPOCH,
    CommitRule.STALE_MEMBER_EPOCH_BEFORE,
    CommitRule.OTHER_GENERATION,
    CommitRule.UNKNOWN_MEMBER,
)
_OF_GROUPS = ", ".join(
    map(literal, (CommitRule.GROUP_NOT_FOUND, CommitRule.GROUP_NOT_FOUND_BEFORE))
)


def _verdict(trace: Trace) -> str:
    by_older_coordinator = (
        f"rule in ({_OF_GROUPS}) and error_code in (22, 25)" if _is_before_4(trace) else "false"
    )
    return f"""case
        when not is_decided or error_code in ({_NOT_COMPARED}) then 'undecided'
        when error_code = coalesce(due, {_NO_ERROR}) then ''
        when _is_static and error_code in ({_OF_INSTANCES}) then 'undecided'
        when {_IS_IN_STATE} and error_code = {_REBALANCING} then 'undecided'
        when due = 47 and error_code in ({_FENCED}) then ''
        when {by_older_coordinator} then 'permitted'
        when {_IS_TXN} and rule not in ({_OF_TOPICS}) and error_code in ({_OF_TRANSACTIONS})
            and due is distinct from 47 then 'undecided'
        else 'violation' end"""


def _is_before_4(trace: Trace) -> bool:
    """Whether groups are of the coordinator from before `GroupCoordinatorShard`."""
    release = trace.run.release
    return release is not None and release < FIRST_WITH_MEMBER_EPOCHS


CHECKS = (CheckDefinition("P10", wrong_commit_error, needs=OF_COMMITS, cases=ERRORS),)
