"""The verdict of one run: `report/verdict.json`, versioned by `schema`."""

import enum
from collections import Counter
from collections.abc import Iterable
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from contract.errors import RunFolderError
from contract.files import open_regular
from contract.run_folder import Consequence, RunFolder
from contract.software import with_note
from contract.terms import CommitEpoch

EXAMPLES_MAX = 10


class RunVerdict(enum.StrEnum):
    """pass: every violation was expected, and every expectation was met."""

    PASS = "pass"
    FAIL = "fail"
    UNDECIDED = "undecided"


EXIT_CODES = {RunVerdict.PASS: 0, RunVerdict.FAIL: 1, RunVerdict.UNDECIDED: 2}
"""Of commands that judge."""


class CheckVerdict(enum.StrEnum):
    """not_evaluable: there was nothing to judge."""

    HOLDS = "holds"
    VIOLATED = "violated"
    PERMITTED = "permitted"
    UNDECIDED = "undecided"
    NOT_EVALUABLE = "not_evaluable"


class FindingVerdict(enum.StrEnum):
    """violation: the configuration in force forbids this. permitted: it allows this."""

    VIOLATION = "violation"
    PERMITTED = "permitted"
    UNDECIDED = "undecided"


BY_SEVERITY = (FindingVerdict.VIOLATION, FindingVerdict.UNDECIDED, FindingVerdict.PERMITTED)
"""The order of the findings of a check, and of their numbers."""


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
    """One check's result; `evaluated` counts what it judged (rows, pairs or commits).

    exercised: the cases among these in which it could have failed, such as leader changes.
    reason: why it could not judge: which table is missing or empty, or how it crashed; else empty.
    summary: all its findings in one line; empty where the check has none.
    by_verdict: the number of its findings of each verdict; empty in verdicts of earlier releases.
    expected: the number of these that an expectation of the plan covers.
    """

    verdict: CheckVerdict
    evaluated: int
    findings: int
    examples: list[Finding]
    reason: str = ""
    summary: str = ""
    exercised: int = 0
    by_verdict: dict[FindingVerdict, int] = {}
    expected: dict[FindingVerdict, int] = {}


class ExpectationResult(msgspec.Struct, frozen=True, kw_only=True):
    """How far the findings of a run meet an `Expectation` of its plan.

    findings: the number of findings that meet it.
    seen: the groups of these findings.
    is_met: whether they are all that it requires.

    The other attributes are those of `Expectation`.
    """

    check: str
    verdict: FindingVerdict
    groups: list[str]
    in_each: bool
    is_optional: bool
    findings: int
    seen: list[str]
    is_met: bool


class UnexpectedFindings(msgspec.Struct, frozen=True, kw_only=True):
    """The violations of one check and group that no expectation covers.

    findings: their number.
    number: that of the first among all findings of the check, from 1.
    first: the first of them.
    """

    check: str
    group: str | None
    findings: int
    number: int
    first: Finding


class FaultResult(msgspec.Struct, frozen=True, kw_only=True):
    """A fault, and whether it landed."""

    fault: str
    target: str
    landed: bool
    evidence: dict[str, Any]


class Resumption(msgspec.Struct, frozen=True, kw_only=True):
    """The resumption of a group on one partition, after it was reopened or its last member paused.

    resumed_at: the first position from which it was served then, None if it raised an exception.
    redelivered: records (values) that were delivered to it more than once.
    never_delivered: records of the surviving log below its position that were never delivered to
        it; None where the client raised an exception.
    record_epoch, position_epoch, metadata_epoch, cluster_epoch: as at the client's last commit
        before (`Committed`); None where it is not known.
    """

    group: str
    client: str
    commit_epoch: CommitEpoch
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
    """Groups of one commit style with the same commits and the same resumption.

    commit_epoch: in `verdict.json` it is called `style`.
    labels: by which the scenario distinguishes its groups.
    resets: the reset policies of these groups.
    groups: their number; each partition counts separately.
    of: the number with this style and these labels.

    The other columns are those of `Resumption`.
    """

    commit_epoch: CommitEpoch = msgspec.field(name="style")
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


class RuleRow(msgspec.Struct, frozen=True, kw_only=True):
    """How the responses of one API fulfil a rule of the protocol (docs/protocol.md).

    api: its name in `ApiKeys`.
    versions: the versions of these responses, as `4-18`; empty if there are none.
    verdict: holds, violated or undecided; `not asked`: there is no response; `not applicable`: the
        brokers support no version that the rule is about.
    """

    rule: str
    api: str
    versions: str
    responses: int
    verdict: str


def several_partitions(rows: Iterable[Resumption]) -> frozenset[str]:
    """The groups that have a row for more than one partition."""
    counts = Counter(row.group for row in rows)
    return frozenset(group for group, count in counts.items() if count > 1)


class PhaseTime(msgspec.Struct, frozen=True, kw_only=True):
    """The duration of a phase of the run."""

    stage: str
    doing: str
    seconds: float


class Timing(msgspec.Struct, frozen=True, kw_only=True):
    """Where a run's wall time went, in seconds.

    starting: until the cluster and its topics were ready and warm up was over.
    story: the scenario, up to its final read.
    collecting: the end of servers and clients, and the collection of their files.
    awaited: the part of the story spent waiting for states of the cluster.
    forced: the Kafka timeouts that had to pass before the story's faults could take effect.
    forced_by: the settings of these timeouts.
    """

    starting: float
    story: float
    collecting: float
    awaited: float = 0.0
    forced: float
    forced_by: list[str]
    phases: list[PhaseTime]


class Note(msgspec.Struct, frozen=True, kw_only=True):
    """What the scenario noted for its report (`run.note`), and when."""

    text: str
    at_micros: int


class Judging(msgspec.Struct, frozen=True, kw_only=True):
    """How a run was judged.

    engine: what ran the statements: DuckDB; in verdicts of earlier releases also Spark SQL.
    why: what was judged, in words.
    seconds: from reading the tables to the verdict; the page comes after it.
    """

    engine: str = "DuckDB"
    why: str
    seconds: float


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """The whole verdict of a run.

    must_judge: as of the plan.
    doubts: why the run as a whole is undecided, if it is.
    unusable: tables that can't be read, or break their contract.
    expectations: those of the plan, in its order.
    expected_by: the scenario's file that they are of, and when it was read; empty: the plan's.
    unexpected: the violations that none of them covers; any of these fails the run.
    answer: to the scenario's question, in a sentence or two; empty until the report is written.
    follows: from the run, as the plan declares it; None where a figure of it is not known, or the
        scenario did not finish.
    build: what was not the release of `kafka`, as own jars by a hash (docs/own-builds.md); empty if
        all was.
    judging: how; None in verdicts of earlier releases.
    notes: of the scenario, in order.
    cells: what each group of a story did, if an extra says so (docs/conformance.md).
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
    rules: list[RuleRow] = []
    cells: list[dict[str, Any]] = []
    rerun: str
    timing: Timing | None = None
    doubts: list[str] = []
    unusable: list[str] = []
    must_judge: list[str] = []
    expectations: list[ExpectationResult] = []
    expected_by: str = ""
    unexpected: list[UnexpectedFindings] = []
    answer: str = ""
    follows: Consequence | None = None
    build: str = ""
    judging: Judging | None = None
    notes: list[Note] = []

    @property
    def on(self) -> str:
        """The version of Kafka, and what differs from its release: `4.4.0, Java clients 3.9.2`."""
        return with_note(self.kafka, self.build)


# `report/findings.parquet`: every finding of a run, one row each.


FINDINGS_FILE = "findings.parquet"
FINDINGS = pa.schema(
    [
        ("check", pa.string()),
        ("number", pa.int64()),
        ("kind", pa.string()),
        ("verdict", pa.string()),
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("offset_first", pa.int64()),
        ("offset_last", pa.int64()),
        ("group", pa.string()),
        ("client", pa.string()),
        ("at", pa.int64()),
        ("cause", pa.string()),
        ("evidence", pa.string()),
    ]
)
"""The columns of `Finding`, and its number among those of its check, from 1; `evidence` is JSON."""


def read_finding(folder: RunFolder, check: str, number: int) -> Finding | None:
    """The Nth finding of a check; None if the file does not have it.

    Raises:
        RunFolderError: the file is damaged.
    """
    found = _read(folder, [("check", "=", check), ("number", "=", number)])
    return found[0] if found else None


def read_violations(folder: RunFolder) -> list[Finding]:
    """All violations of a run, expected ones among them; none if there is no file.

    Raises:
        RunFolderError: the file is damaged.
    """
    return _read(folder, [("verdict", "=", FindingVerdict.VIOLATION.value)])


def _read(folder: RunFolder, wanted: list[tuple[str, str, object]]) -> list[Finding]:
    file = folder.report / FINDINGS_FILE
    if not file.is_file():
        return []
    try:
        with open_regular(file) as content:
            chosen = pq.read_table(content, filters=wanted)
        return [_finding(row) for row in chosen.cast(FINDINGS).to_pylist()]
    except (pa.ArrowException, OSError, ValueError, msgspec.DecodeError) as error:
        raise RunFolderError(f"{file} is not a valid file of findings: {error}") from error


def _finding(row: dict[str, object]) -> Finding:
    values = {name: value for name, value in row.items() if name != "number"}
    return msgspec.convert(
        {
            **values,
            "verdict": FindingVerdict(str(row["verdict"])),
            "evidence": msgspec.json.decode(str(row["evidence"])),
        },
        Finding,
    )
