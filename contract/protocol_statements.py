"""What KIP-320 says besides the rules of `contract.protocol`, and which checks judge it."""

import enum
from dataclasses import dataclass

from contract.checks import Check


class Coverage(enum.StrEnum):
    """judged: by checks on what clients and replicas do. superseded: no release does it."""

    JUDGED = "judged"
    NOT_COVERED = "not covered"
    SUPERSEDED = "superseded"
    NOT_APPLICABLE = "not applicable"


@dataclass(frozen=True)
class Statement:
    """A normative statement of KIP-320 without a rule of its own.

    Attributes:
        place: in the document.
        says: the statement.
        coverage: whether it is judged.
        by: the checks, if it is.
        note: the scenarios with a case, or why it is not covered.
    """

    place: str
    says: str
    coverage: Coverage
    by: tuple[Check, ...] = ()
    note: str = ""


_JUDGED, _NOT_COVERED = Coverage.JUDGED, Coverage.NOT_COVERED
_HANDLING, _CONSUMER, _REPLICA = "Leader Fetch Handling", "Consumer Handling", "Replica Handling"
_API, _PROTOCOL = "API Changes", "Protocol Changes"
_NO_CLIENT_REQUESTS = "requests of clients are not recorded"

STATEMENTS = (
    Statement(
        _HANDLING,
        "The leader does not add a replica to the ISR that the controller has marked offline.",
        _JUDGED,
        (Check.FENCED_IN_ISR,),
        "zombie_follower",
    ),
    Statement(
        _CONSUMER,
        "A consumer takes the current leader epoch from Metadata and sends it with each Fetch.",
        _NOT_COVERED,
        note=_NO_CLIENT_REQUESTS,
    ),
    Statement(
        _CONSUMER,
        "After a leader change a consumer checks for truncation before it fetches.",
        _JUDGED,
        (Check.TRUNCATION_UNDETECTED, Check.SILENT_REVALIDATION),
        "truncation_detection, commit_epoch",
    ),
    Statement(
        _CONSUMER,
        "A consumer without a last consumed epoch skips that check.",
        _JUDGED,
        (Check.TRUNCATION_UNDETECTED,),
        "commit_epoch, style `none`",
    ),
    Statement(
        _CONSUMER,
        "With auto.offset.reset earliest or latest, a truncated position is reset to the"
        " divergence, and the client logs it.",
        _JUDGED,
        (Check.TRUNCATION_DETECTED, Check.SKIPPED_RECORD),
        "truncation_detection",
    ),
    Statement(
        _CONSUMER,
        "Without a reset policy, poll raises a LogTruncationException with the divergent offset.",
        _JUDGED,
        (Check.DIVERGENCE_MISMATCH, Check.FALSE_TRUNCATION),
        "truncation_detection",
    ),
    Statement(
        _CONSUMER,
        "A fetch offset is out of range only below the log start, or after a seek.",
        _JUDGED,
        (Check.UNJUSTIFIED_RESET,),
        "truncation_detection, retention_deletion",
    ),
    Statement(
        _CONSUMER,
        "A consumer waits until its metadata has reached the epoch of the committed offset.",
        _JUDGED,
        (Check.UNJUSTIFIED_RESET,),
        "stale_metadata",
    ),
    Statement(
        _CONSUMER,
        "On FENCED_LEADER_EPOCH and UNKNOWN_LEADER_EPOCH a consumer updates its metadata and"
        " retries.",
        _NOT_COVERED,
        note=_NO_CLIENT_REQUESTS,
    ),
    Statement(
        _REPLICA,
        "A follower sends the new epoch when it looks for its truncation offset, and when it"
        " fetches.",
        _JUDGED,
        (Check.OVER_TRUNCATION, Check.LOG_DIVERGENCE),
        "zombie_follower, by the logs; requests of replicas are not recorded",
    ),
    Statement(
        _REPLICA,
        "A follower retries after either error.",
        _JUDGED,
        (Check.NEVER_CAUGHT_UP,),
        "zombie_follower",
    ),
    Statement(
        _API,
        "Both errors are retriable in the client.",
        _NOT_COVERED,
        note="the classes of the exceptions are not inspected",
    ),
    Statement(
        _API,
        "A record, an OffsetAndMetadata and an OffsetAndTimestamp have the leader epoch.",
        _JUDGED,
        (Check.RECORD_EPOCH_REGRESSED, Check.INCONSISTENT_OFFSET),
        "every scenario, of records; offsetsForTimes is not called",
    ),
    Statement(
        _API,
        "seek with an OffsetAndMetadata initializes offset and epoch.",
        _NOT_COVERED,
        note="no client under test calls it",
    ),
    Statement(
        f"{_PROTOCOL}, OffsetCommit and TxnOffsetCommit",
        "Commits have the epoch of the record that was fetched before.",
        _JUDGED,
        (Check.COMMITTED_EPOCH_MISSING, Check.COMMITTED_EPOCH_STALE, Check.COMMIT_MISMATCH),
        "commit_epoch, by what is stored",
    ),
    Statement(
        f"{_PROTOCOL}, OffsetFetch",
        "The response has the committed epoch.",
        _NOT_COVERED,
        note="no rule yet",
    ),
    Statement(
        "Offset Schema Changes",
        "A stored commit has the epoch from version 3 of OffsetCommitValue on.",
        _JUDGED,
        (Check.COMMIT_MISMATCH,),
        "commit_epoch; the version itself is not compared",
    ),
    Statement(
        "ACL Changes",
        "OffsetForLeaderEpoch needs Describe on the topic; ClusterAction on the cluster suffices"
        " as before.",
        _NOT_COVERED,
        note="no scenario has an authorizer",
    ),
    Statement(
        "Compatibility",
        "With older message formats the epoch is -1.",
        Coverage.NOT_APPLICABLE,
        note="brokers of these releases write no older format",
    ),
    Statement(
        "earlier draft",
        "A Fetch after a truncation is refused with LOG_TRUNCATION.",
        Coverage.SUPERSEDED,
        note="OffsetForLeaderEpoch finds it; KIP-595 added the diverging epoch of Fetch",
    ),
    Statement(
        "earlier draft",
        "auto.offset.reset has a third policy, `closest`.",
        Coverage.SUPERSEDED,
        note="earliest and latest reset to the divergence",
    ),
    Statement(
        "earlier draft",
        "Commits have the timestamp of the record that was fetched before.",
        Coverage.SUPERSEDED,
        note="the released KIP has the epoch only",
    ),
)
