"""The figures of each story of reprocessing_hunt, as they are summed up, and its near misses."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import msgspec

from analysis.statements.files import expanded
from analysis.statements.registry import CHECKS
from analysis.statements.trace import Row, Trace
from bench.traces import opened
from contract.checks import Check
from contract.regular_files import replace_file
from contract.run_folder import RunDescription, RunFolder, find_runs
from contract.tables import MICROS_PER_SECOND
from contract.verdicts import CheckResult, CheckVerdict, FindingVerdict, Verdict
from studies.runs import verdicts_of

_STATEMENT = Path(__file__).with_name("near_misses.sql")
NEAR_MISSES = {
    "new leader": "the leader had changed since the commit",
    "at the log start": "the committed offset was the log start",
    "epoch gone": "no record of the committed epoch was left in the log",
    "epoch older": "the committed epoch was older than the record's before the offset",
    "epoch newer": "the committed epoch was newer than the record's before the offset",
    "no epoch": "the commit had no epoch",
}
"""How a resumption can come near, and what that means. One may do so in several ways."""


def near_misses(trace: Trace) -> list[Row]:
    """(group, one column for each of NEAR_MISSES, resumptions): how many of each group did.

    A resumption is an assignment of a partition to a member that began with a commit. Where
    the sources leave open what held then, it is not counted as near.
    """
    return trace.ask(expanded(_STATEMENT.read_text(encoding="utf-8"), _STATEMENT))


def column_of(near: str) -> str:
    """Return the column of a near miss."""
    return near.replace(" ", "_")


SCENARIO = "reprocessing_hunt"
_FILE = "hunt.json"
_ANSWERS = (Check.UNJUSTIFIED_RESET, Check.START_MISMATCH)


class GroupSum(msgspec.Struct, frozen=True, kw_only=True):
    """What one group did in a story.

    differs: from the reporter's group, by what.
    near: resumptions by how near they came (`NEAR_MISSES`).
    resets: by cause, those for want of a commit left out.
    unjustified, undecided: findings of unjustified_reset.
    delivered, again: records delivered, and how many of these deliveries repeated one.
    """

    group: str
    differs: str
    resumptions: int
    near: dict[str, int]
    resets: dict[str, int]
    unjustified: int
    undecided: int
    delivered: int
    again: int


class Witness(msgspec.Struct, frozen=True, kw_only=True):
    """An unjustified reset: where it is."""

    group: str
    topic: str
    partition: int
    verdict: str
    cause: str


class Story(msgspec.Struct, frozen=True, kw_only=True):
    """A run of the hunt.

    is_known: unjustified_reset and the number of resumptions could be judged.
    seconds: from its first fault to the end of its last.
    faults: by verb. rounds: that were begun.
    verdict: by the checks that the question is about; unexpected: those of them that found what was
        not expected.
    error: with which the scenario ended; empty if it went to its end.
    """

    seed: int
    kafka: str
    scale: str
    retention: str
    partitions: int
    members: int
    is_known: bool
    seconds: float
    faults: dict[str, int]
    rounds: int
    records: int
    groups: list[GroupSum]
    witnesses: list[Witness]
    verdict: str
    unexpected: list[str]
    error: str = ""

    @property
    def resumptions(self) -> int:
        """Of all groups."""
        return sum(group.resumptions for group in self.groups)

    @property
    def unjustified(self) -> int:
        """Of all groups."""
        return sum(group.unjustified for group in self.groups)


def runs_of(scenario: str, folders: Iterable[Path]) -> list[RunFolder]:
    """Return the runs of a scenario below some folders, as far as their faults are decoded."""
    return [
        run
        for folder in folders
        for run in find_runs(folder)
        if run.plan().scenario == scenario and (run.tables / "faults.parquet").exists()
    ]


def stories(folders: Iterable[Path]) -> list[Story]:
    """Return the stories below some folders, by version and seed, without those without a fault.

    A story that ended with an error, or was interrupted, counts as far as it came, if its tables
    are there: `fencepost analyze` decodes them. The figures of a story are kept beside its report.
    """
    runs = runs_of(SCENARIO, folders)
    due = [run for run in runs if not (run.report / _FILE).exists()]
    verdicts = dict(zip(due, verdicts_of(due), strict=True))
    found = [_story(run, verdicts.get(run)) for run in runs]
    return sorted((one for one in found if one.faults), key=lambda one: (one.kafka, one.seed))


def _story(run: RunFolder, verdict: Verdict | None) -> Story:
    file = run.report / _FILE
    if verdict is None:
        return msgspec.json.decode(file.read_bytes(), type=Story)
    with opened(run) as trace:
        story = story_of(trace, verdict)
    replace_file(file, msgspec.json.encode(story))
    return story


def story_of(trace: Trace, verdict: Verdict) -> Story:
    """Return the figures of a run that was judged; without groups and witnesses if not known."""
    plan = trace.plan
    faults = trace.ask("select * from faults")
    is_known = all(_is_judged(verdict.checks[check]) for check in _ANSWERS)
    return Story(
        seed=verdict.seed,
        kafka=verdict.kafka,
        scale=str(plan.parameters.get("scale", "")),
        retention=str(plan.parameters.get("retention", "")),
        partitions=sum(topic.partitions for topic in plan.topics),
        members=max(group.members for group in plan.groups),
        is_known=is_known,
        seconds=seconds_of(faults),
        faults=dict(sorted(Counter(str(row["fault"]) for row in faults).items())),
        rounds=len({row["doing"].partition(":")[0] for row in _of_rounds(trace)}),
        records=_records_sent(trace),
        groups=list(_groups(trace)) if is_known else [],
        witnesses=list(_witnesses(trace)) if is_known else [],
        verdict=str(verdict.verdict),
        unexpected=[str(one.check) for one in verdict.unexpected],
        error=_error(trace.run),
    )


def _witnesses(trace: Trace) -> Iterator[Witness]:
    for row in unjustified_resets(trace):
        yield Witness(**{name: row[name] for name in Witness.__struct_fields__})


def _error(run: RunDescription) -> str:
    if run.error is None:
        return "" if run.ended_micros is not None else "interrupted"
    return run.error.partition("\n")[0]


def _is_judged(result: CheckResult) -> bool:
    is_unreliable = result.verdict is CheckVerdict.UNDECIDED and result.reason
    return not is_unreliable and result.verdict is not CheckVerdict.NOT_EVALUABLE


def seconds_of(faults: Sequence[Row]) -> float:
    """Return the time from the first injection to the last heal or proof."""
    began = [row["injected_micros"] for row in faults]
    ended = [
        row["healed_micros"] or row["proved_micros"] or row["injected_micros"] for row in faults
    ]
    return (max(ended) - min(began)) / MICROS_PER_SECOND if faults else 0.0


def _records_sent(trace: Trace) -> int:
    text = "select sum(last_sequence - first_sequence + 1) as records from sends"
    ((records,),) = trace.query(text).tuples()
    return int(records or 0)


def _of_rounds(trace: Trace) -> list[Row]:
    return trace.ask("select doing from phases where doing like 'round %'")


def _groups(trace: Trace) -> Iterator[GroupSum]:
    near = {row["group"]: row for row in near_misses(trace)}
    resets: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for row in trace.ask("select group, cause from judged_resets"):
        resets[row["group"]][row["cause"]] += 1
    found: Counter[tuple[str, str]] = Counter()
    for row in unjustified_resets(trace):
        found[row["group"], row["verdict"]] += 1
    delivered = _by_group(
        trace, "select group, sum(records) as number from deliveries group by all"
    )
    again = _by_group(
        trace,
        "select group, sum((deliveries - 1) * records) as number from repeated_slices group by all",
    )
    for plan in sorted(trace.plan.groups, key=lambda one: one.group):
        group = plan.group
        nears: Row | None = near.get(group)
        yield GroupSum(
            group=group,
            differs=plan.labels.get("differs", ""),
            resumptions=0 if nears is None else nears["resumptions"],
            near={
                one: 0 if nears is None else int(nears[column_of(one)] or 0) for one in NEAR_MISSES
            },
            resets=dict(sorted(resets[group].items())),
            unjustified=found[group, str(FindingVerdict.VIOLATION)],
            undecided=found[group, str(FindingVerdict.UNDECIDED)],
            delivered=delivered.get(group, 0),
            again=again.get(group, 0),
        )


def unjustified_resets(trace: Trace) -> list[Row]:
    """Return the findings of unjustified_reset."""
    return CHECKS[Check.UNJUSTIFIED_RESET].judge(trace).findings.collect()


def _by_group(trace: Trace, statement: str) -> dict[str, int]:
    return {row["group"]: int(row["number"]) for row in trace.ask(statement)}
