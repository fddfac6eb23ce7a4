"""What an early draft of KIP-595 says besides the rules, and what was released instead."""

from functools import partial

from contract.statement import Coverage, Statement

_of = partial(Statement, "KIP-595")
_JUDGED = Coverage.JUDGED
_NOT_APPLICABLE = Coverage.NOT_APPLICABLE
_SUPERSEDED = Coverage.SUPERSEDED

STATEMENTS_OF_KIP_595 = (
    _of(
        "Request",
        "The quorum's log is replicated by an API of its own, FetchQuorumRecords.",
        _SUPERSEDED,
        note="Fetch from version 12 on, of one partition, __cluster_metadata-0",
        second="002: 1",
    ),
    _of(
        "Request",
        "It has a cluster id as a number.",
        _SUPERSEDED,
        note="ClusterId of Fetch is a text; another one is refused, which no run does",
        second="002: 2-3",
    ),
    _of(
        "Request",
        "It has the replica's id, and whether it is a follower.",
        _SUPERSEDED,
        note="ReplicaState of Fetch; the leader knows its voters (`LeaderState.isVoter`)",
        second="002: 4, 8",
    ),
    _of(
        "Request",
        "It has the current epoch, the next offset and the epoch of the last record, and no topic.",
        _JUDGED,
        (
            "schema",
            "quorum: leader epoch",
        ),
        note="quorum_divergence, in the fields of Fetch, which names the topic",
        second="002: 5-7, 9",
    ),
    _of(
        "Response",
        "The error is one of the whole response.",
        _SUPERSEDED,
        note="errors of epochs are those of the partition in Fetch",
        second="002: 10",
    ),
    _of(
        "Response",
        "It has records and the high watermark.",
        _JUDGED,
        ("schema",),
        note="quorum_divergence; the values are not compared",
        second="002: 15-16",
    ),
    _of(
        "Response",
        "It has the first dirty offset, for snapshots.",
        _SUPERSEDED,
        note="FetchSnapshot (KIP-630)",
        second="002: 17",
    ),
    _of(
        "Response",
        "It has the time when the follower was last caught up.",
        _SUPERSEDED,
        note="DescribeQuorum has it (KIP-836)",
        second="002: 18",
    ),
    _of(
        "Leader, step 1",
        "Another epoch is refused with MISMATCH_EPOCH.",
        _SUPERSEDED,
        note="FENCED_LEADER_EPOCH, UNKNOWN_LEADER_EPOCH: rules `quorum: older epoch` and"
        " `quorum: newer epoch`",
        second="002: 20",
    ),
    _of(
        "Leader, step 1",
        "The replica with the older epoch learns the newer one.",
        _JUDGED,
        ("metadata_divergence",),
        note="quorum_divergence: the deposed leader follows its successor",
        second="002: 21-22",
    ),
    _of(
        "Leader, step 2",
        "A diverging Fetch is refused with OUT_OF_RANGE.",
        _SUPERSEDED,
        note="no error, a diverging epoch: rule `quorum: divergence`",
        second="002: 25",
    ),
    _of(
        "Leader, step 2",
        "The follower truncates to that offset, in several rounds if it has to.",
        _JUDGED,
        ("metadata_truncation",),
        note="quorum_divergence",
        second="002: 27-29, 40",
    ),
    _of(
        "Leader, step 3",
        "The high watermark moves only when an entry of the leader's epoch is on a"
        " majority, and then to what a majority has.",
        _JUDGED,
        ("early_high_watermark",),
        note="quorum_divergence, by samples",
        second="002: 31-32",
    ),
    _of(
        "Leader, step 3",
        "Only voters count for it.",
        _JUDGED,
        ("early_high_watermark",),
        note="quorum_divergence, by samples",
        second="002: 30",
    ),
    _of(
        "Leader, step 3",
        "A follower that is no voter is refused with NOT_FOLLOWER.",
        _SUPERSEDED,
        note="it is served as an observer: rule `quorum: fetch of a non-voter`",
        second="002: 33-34",
    ),
    _of(
        "Notes",
        "The leader finds divergences by an epoch cache, as with OffsetForLeaderEpoch.",
        _NOT_APPLICABLE,
        note="how it is made; the rules judge what it returns",
        second="002: 36, 39",
    ),
    _of(
        "Notes",
        "Each new epoch is written to leader-epoch-checkpoint.",
        _JUDGED,
        ("epoch_cache_mismatch",),
        note="of topics in every scenario; that of the metadata log is not collected",
        second="002: 37-38",
    ),
)

RULES_OF_KIP_595 = {
    "quorum: current leader": "002: 11-12",
    "quorum: leader epoch": "002: 19",
    "quorum: divergence": "002: 13-14, 24, 26",
    "quorum: no divergence": "002: 23",
    "quorum: fetch of a non-voter": "002: 35",
}
"""By rule: the statements of the second list that it is about."""
