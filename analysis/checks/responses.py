"""What the checks of the protocol have in common: the findings among responses of brokers."""

from analysis.checks.base import CheckOutcome, count
from analysis.checks.cases import Cases, findings, undecided, violation
from analysis.engine.frames import Frame

OF_LEADERS = ("wire_calls", "leaderships")
"""The tables that the checks of leader epochs need."""
JUDGED = (
    "worker",
    "seq",
    "broker",
    "api",
    "version",
    "topic",
    "partition",
    "at_micros",
    "rule",
    "expected",
    "got",
    "verdict",
)
"""Columns of judged responses: the rule that each is about, and its verdict, empty if it holds."""
ERROR = (
    "format_string('error %s', case error_code when 0 then '0 (NONE)'"
    " when 1 then '1 (OFFSET_OUT_OF_RANGE)' when 6 then '6 (NOT_LEADER_OR_FOLLOWER)'"
    " when 74 then '74 (FENCED_LEADER_EPOCH)' when 75 then '75 (UNKNOWN_LEADER_EPOCH)'"
    " else cast(error_code as string) end)"
)
"""SQL: the error of a response in words."""

BROKEN = violation(
    "{rule}",
    "{api} version {version} to broker {broker}: expected {expected}, got {got}",
    when="verdict = 'violation'",
)
"""A response breaks a rule of docs/protocol.md."""
RESPONSES = Cases(
    undecided(
        "{rule}",
        "{api} version {version} to broker {broker}: what it has to return is not known exactly,"
        " got {got}",
        when="verdict = 'undecided'",
    ),
    BROKEN,
    evidence="worker, seq, broker, api, version, expected, got",
    at="at_micros",
)
"""What a response may break, by what the checks of the protocol made of it."""


def outcome_of(rows: Frame) -> CheckOutcome:
    """The findings among judged responses."""
    return CheckOutcome(findings(rows, RESPONSES), count(rows))
