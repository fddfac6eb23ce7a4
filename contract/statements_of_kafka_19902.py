"""The claims of KAFKA-19902, and what the runs say of them."""

from functools import partial

from contract.statement import Coverage, Statement

_of = partial(Statement, "KAFKA-19902")
_CONFIRMED = Coverage.CONFIRMED
_NOT_APPLICABLE = Coverage.NOT_APPLICABLE
_OPEN = Coverage.OPEN
_REFUTED = Coverage.REFUTED

STATEMENTS_OF_KAFKA_19902 = (
    _of(
        "Summary",
        "A plain commit has the epoch of the last record, also where the leader has a newer one.",
        _CONFIRMED,
        ("committed_epoch_behind_leader",),
        note="commit_epoch, style `record`: docs/commit-epoch.md; KIP-320 says so",
        second="004: 1, 23, 29, 33, 49, 89, 101",
    ),
    _of(
        "Problem chain, steps 5 and 6",
        "For an epoch that retention removed, the broker returns OFFSET_OUT_OF_RANGE to"
        " the validation.",
        _REFUTED,
        ("end of a removed epoch",),
        note="epoch_protocol: no error, and the start of the oldest epoch",
        second="004: 2, 26-27, 36, 98, 103",
        is_first=True,
    ),
    _of(
        "Problem chain, step 7",
        "An offset that is out of range is reset to earliest, and records are read again.",
        _CONFIRMED,
        ("reset", "reprocessing_amplification", "below the log start"),
        note="commit_epoch, style `none` with the log end below; retention_deletion, where"
        " the commit is below the log start",
        second="004: 3, 18, 28, 44, 47",
        is_first=True,
    ),
    _of(
        "Root cause",
        "The cause is that a commit has the record's epoch; it should have the leader's.",
        _REFUTED,
        ("skipped_record",),
        note="commit_epoch, style `forced`: with the leader's epoch the truncation is not"
        " noticed, and new records are skipped",
        second="004: 4, 31, 34",
    ),
    _of(
        "Environment",
        "Versions, sizes, settings and code of the reporter.",
        _NOT_APPLICABLE,
        note="conditions, not claims; no run repeats them",
        second="004: 5-12",
    ),
    _of(
        "Observed symptoms",
        "A group without a lag was reset to earliest after a rebalance.",
        _OPEN,
        ("unjustified_reset",),
        note="no run has shown it: rolling_bounce, group_rebalance, commit_epoch; and"
        " reprocessing_hunt, which looks for it: docs/hunt.md has the resumptions and the bound",
        second="004: 13-17, 19",
    ),
    _of(
        "Additional notes",
        "Clients log NOT_LEADER_OR_FOLLOWER at DEBUG only.",
        _OPEN,
        note="so by the source; logs at DEBUG are not collected",
        second="004: 20, 81-83",
    ),
    _of(
        "Problem chain, steps 1, 4 and 5",
        "The leader changes, retention removes the epoch, and a position restored from"
        " a commit is validated with its epoch.",
        _CONFIRMED,
        ("truncation_detected", "retention_overreach"),
        note="commit_epoch, retention_deletion",
        second="004: 21, 24-25, 35, 94",
    ),
    _of(
        "Problem chain, step 2",
        "A consumer processes records of the old epoch after the leader change.",
        _CONFIRMED,
        ("committed_epoch_behind_leader",),
        note="commit_epoch",
        second="004: 22",
    ),
    _of(
        "Second root cause",
        "A position has two epochs; that of its leader is inherited when it advances,"
        " so that both can be old at a commit.",
        _CONFIRMED,
        ("committed_epoch_behind_leader",),
        note="commit_epoch: record and position have 1 where the cluster has 3"
        " (docs/commit-epoch.md)",
        second="004: 30, 32, 48, 50",
    ),
    _of(
        "Second root cause",
        "The position's leader is renewed by errors of the leader, by a committed"
        " offset and by a validation.",
        _OPEN,
        note="so by the source; requests of clients are not recorded",
        second="004: 51-53",
    ),
    _of(
        "Second root cause",
        "While nothing fails, the position's leader is never renewed.",
        _OPEN,
        note="the source contradicts it:"
        " `OffsetFetcherUtils.validatePositionsOnMetadataChange`; no run isolates it",
        second="004: 54, 91",
    ),
    _of(
        "Code references",
        "How a position is restored and what the validation asks for.",
        _OPEN,
        note="so by the source; requests of clients are not recorded",
        second="004: 92-93, 95-97",
    ),
    _of(
        "Code references",
        "Auto-commit and every manual commit are affected alike.",
        _CONFIRMED,
        ("committed_epoch_behind_leader",),
        note="commit_hazards: each plain manner commits the record's epoch, auto-commit too:"
        " docs/arbiter.md; a commit with given offsets has the caller's epoch",
        second="004: 99-100",
    ),
    _of(
        "Steps to reproduce",
        "The procedure.",
        _NOT_APPLICABLE,
        note="no claim by itself",
        second="004: 37-41",
    ),
    _of(
        "Steps to reproduce",
        "The consumer has to resume from its committed offset.",
        _CONFIRMED,
        ("unjustified_reset", "start_mismatch"),
        note="every scenario with groups that are opened again",
        second="004: 42",
    ),
    _of(
        "Steps to reproduce",
        "Instead it is out of range and reset.",
        _OPEN,
        ("unjustified_reset",),
        note="no run has shown it with a plain commit, nor has reprocessing_hunt: docs/hunt.md",
        second="004: 43",
    ),
    _of(
        "Impact",
        "Load on systems downstream.",
        _NOT_APPLICABLE,
        note="it is not measured",
        second="004: 45-46",
    ),
    _of(
        "Option 1",
        "The leader is looked up whenever the position advances, and its epoch is committed.",
        _OPEN,
        note="commit_hazards and prefetch_race run a patched consumer: docs/arbiter.md",
        second="004: 55-61, 77-78",
    ),
    _of(
        "Option 2",
        "The leader's epoch is looked up at the commit.",
        _OPEN,
        note="commit_hazards runs a patched consumer: docs/arbiter.md",
        second="004: 62-68",
    ),
    _of(
        "Option 3",
        "The larger of both epochs is committed.",
        _OPEN,
        note="commit_hazards runs a patched consumer: docs/arbiter.md",
        second="004: 69-76, 79-80",
    ),
    _of(
        "Workarounds",
        "A longer retention or a small lag keeps a commit in range.",
        _CONFIRMED,
        ("commit_expired",),
        note="retention_deletion: group `current` stays in range, the lagging ones do not",
        second="004: 84-85",
    ),
    _of(
        "Workarounds",
        "Fewer or cooperative rebalances make the reset less likely.",
        _OPEN,
        note="the reset has not been shown",
        second="004: 86-87",
    ),
    _of(
        "Workarounds",
        "With auto.offset.reset latest records are lost instead.",
        _CONFIRMED,
        ("skipped_record",),
        note="retention_deletion, commit_epoch",
        second="004: 88",
    ),
    _of(
        "Issue data",
        "The quoted code, and the fields of the issue.",
        _NOT_APPLICABLE,
        note="no claim about behaviour",
        second="004: 90, 102, 104",
    ),
)
