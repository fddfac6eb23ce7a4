"""The verdict of one run: `report/verdict.json`, versioned by `schema`."""

import enum
from collections import Counter
from collections.abc import Iterable
from typing import Any

import msgspec

SCHEMA = 1
EXAMPLES_MAX = 10


class RunVerdict(enum.StrEnum):
    """pass: no violation beyond what the scenario expects, and all it expects was seen."""

    PASS = "pass"
    FAIL = "fail"
    UNDECIDED = "undecided"


class CheckVerdict(enum.StrEnum):
    """not_evaluable: there was nothing to judge."""

    HOLDS = "holds"
    VIOLATED = "violated"
    PERMITTED = "permitted"
    UNDECIDED = "undecided"
    NOT_EVALUABLE = "not_evaluable"


class FindingVerdict(enum.StrEnum):
    """violation: a promise of the configuration in force was broken; permitted: it allows this."""

    VIOLATION = "violation"
    PERMITTED = "permitted"
    UNDECIDED = "undecided"


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """One finding: a contiguous span of offsets, with its cause and the rows that prove it."""

    check: str
    kind: str
    verdict: FindingVerdict
    topic: str | None
    partition: int | None
    offset_first: int | None
    offset_last: int | None
    group: str | None
    client: str | None
    at: int | None
    cause: str
    evidence: dict[str, Any]


class CheckResult(msgspec.Struct, frozen=True, kw_only=True):
    """What one check found; `evaluated` counts what it judged (rows, pairs or commits).

    exercised: the cases among these in which it could have failed, such as leader changes.
    reason: why it could not judge: which table is missing or empty, or how it crashed; else empty.
    summary: all its findings in one line; empty where the check has none to tell.
    """

    verdict: CheckVerdict
    evaluated: int
    findings: int
    examples: list[Finding]
    reason: str = ""
    summary: str = ""
    exercised: int = 0


class FaultResult(msgspec.Struct, frozen=True, kw_only=True):
    """A fault and whether it bit."""

    fault: str
    target: str
    landed: bool
    evidence: dict[str, Any]


class Resumption(msgspec.Struct, frozen=True, kw_only=True):
    """How one group went on, on one partition, after it was opened again or its last member paused.

    resumed_at: the first position from which it was served then, None where it raised instead.
    redelivered: records (values) that it got more than once.
    never_delivered: records of the surviving log that its position went past, and it never got;
        None where the client raised an exception.
    record_epoch, position_epoch, metadata_epoch, cluster_epoch: as at the client's last commit
        before (`Committed`); None where it is not known.
    """

    group: str
    client: str
    commit_epoch: str
    reset: str
    committed_offset: int | None
    committed_epoch: int | None
    resumed_at: int | None
    redelivered: int | None
    never_delivered: int | None
    exception: str | None
    topic: str = ""
    partition: int = -1
    record_epoch: int | None = None
    position_epoch: int | None = None
    metadata_epoch: int | None = None
    cluster_epoch: int | None = None


class StyleRow(msgspec.Struct, frozen=True, kw_only=True):
    """Groups of one commit style that committed the same, and went on alike.

    style: `CommitEpoch`.
    labels: by which the scenario tells its groups apart.
    resets: the reset policies of these groups.
    groups: how many they are, each partition by itself.
    of: how many have this style and these labels.

    The other columns are those of `Resumption`.
    """

    style: str
    labels: dict[str, str]
    committed_offset: int | None
    committed_epoch: int | None
    resets: list[str]
    groups: int
    of: int
    resumed_at: int | None
    redelivered: int | None
    never_delivered: int | None
    exception: str | None


def several_partitions(rows: Iterable[Resumption]) -> frozenset[str]:
    """The groups that have a row for more than one partition."""
    counts = Counter(row.group for row in rows)
    return frozenset(group for group, count in counts.items() if count > 1)


class PhaseTime(msgspec.Struct, frozen=True, kw_only=True):
    """How long a phase of the run took."""

    stage: str
    doing: str
    seconds: float


class Timing(msgspec.Struct, frozen=True, kw_only=True):
    """Where a run's wall time went, in seconds.

    starting: until the cluster, its topics, and what the story takes for granted were there.
    story: what the scenario tells, up to its final read.
    collecting: the end of servers and clients, and what they left.
    awaited: of the story, what passed until states came that only the cluster can bring about.
    forced: the Kafka timeouts that had to pass before the story's faults could bite.
    forced_by: the settings of these timeouts.
    """

    starting: float
    story: float
    collecting: float
    awaited: float = 0.0
    forced: float
    forced_by: list[str]
    phases: list[PhaseTime]


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """The whole verdict of a run.

    must_judge: as of the plan.
    doubts: why the run as a whole is undecided, if it is.
    """

    schema: int
    run_id: str
    scenario: str
    parameters: dict[str, Any]
    seed: int
    kafka: str
    clients: dict[str, str]
    cluster: str
    verdict: RunVerdict
    checks: dict[str, CheckResult]
    faults: list[FaultResult]
    resumption: list[Resumption]
    styles: list[StyleRow] = []
    rerun: str
    timing: Timing | None = None
    doubts: list[str] = []
    must_judge: list[str] = []
