"""The stories of coordinator_hunt: who was returned older commits when the coordinator changed."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import msgspec

from analysis.report.words import share
from analysis.statements.files import expanded
from analysis.statements.trace import Trace
from bench import figures
from bench.traces import opened
from contract.run_folder import RunFolder
from contract.verdicts import FindingVerdict, Verdict
from studies.hunt.stories import runs_of, seconds_of, unjustified_resets
from studies.runs import verdicts_of

SCENARIO = "coordinator_hunt"
_NAME = "hunt_coordinators"
_STATEMENT = Path(__file__).with_suffix(".sql")
_RESUMES = "resumes"


class Reads(msgspec.Struct, frozen=True, kw_only=True, array_like=True):
    """The reads of one group in one way, each of a partition.

    group: with the kind of its client, and whether it subscribes.
    how: resumes, committed(), or Admin's, by default or stable.
    is_cut: whether no replica fetched from the successor then.
    cases: that ended without an error; failed: the others.
    exposed: of the cases, those of a partition of which Admin was returned an older commit, or
        none, in the same round.
    older: that had an older commit than one that was acknowledged before, or none.
    """

    group: str
    how: str
    is_cut: bool
    cases: int
    failed: int
    exposed: int
    older: int

    @property
    def reader(self) -> str:
        """Who read: the kind of client, or Admin, which reads for any group."""
        return self.how if self.how.startswith("Admin") else self.group.partition(".")[0]

    @property
    def way(self) -> str:
        """How it read."""
        if self.how != _RESUMES:
            return "" if self.how == self.reader else self.how
        return f"{_RESUMES}, {self.group.partition('.')[2]}"


class Story(msgspec.Struct, frozen=True, kw_only=True):
    """A run. changes: of the coordinator, by fault; resets: of positions in the log."""

    kafka: str
    seed: int
    wait_ms: int
    seconds: float
    changes: dict[str, int]
    cut: int
    resets: int
    reads: list[Reads]
    verdict: str

    @property
    def key(self) -> tuple[str, int, int]:
        """What makes it the same as another one."""
        return self.kafka, self.wait_ms, self.seed


def stories(folders: Iterable[Path]) -> list[Story]:
    """Return the stories below some folders."""
    runs = runs_of(SCENARIO, folders)
    return [_loaded(run, one) for run, one in zip(runs, verdicts_of(runs), strict=True)]


def _loaded(run: RunFolder, verdict: Verdict) -> Story:
    with opened(run) as trace:
        return story_of(trace, verdict)


def story_of(trace: Trace, verdict: Verdict) -> Story:
    """Return the figures of a run that was judged."""
    faults = trace.ask("select * from faults")
    changes = Counter(str(row["fault"]) for row in faults)
    cut = changes.pop("cut replication", 0)
    reads = trace.ask(expanded(_STATEMENT.read_text(encoding="utf-8"), _STATEMENT))
    found = Counter(row["verdict"] for row in unjustified_resets(trace))
    return Story(
        kafka=verdict.kafka,
        seed=verdict.seed,
        wait_ms=int(str(trace.plan.parameters["wait_ms"])),
        seconds=seconds_of(faults),
        changes=dict(sorted(changes.items())),
        cut=cut,
        resets=found[str(FindingVerdict.VIOLATION)],
        reads=[Reads(**row) for row in reads],
        verdict=str(verdict.verdict),
    )


def keep(found: Sequence[Story]) -> Path:
    """Keep stories beside those that are kept already."""
    every = {one.key: one for one in (*kept(), *found)}
    return figures.keep(_NAME, [every[key] for key in sorted(every)])


def kept() -> list[Story]:
    """Return the stories that are kept."""
    return figures.kept(_NAME, list[Story]) if figures.is_kept(_NAME) else []


def by_reader(every: Sequence[Story]) -> Iterator[Sequence[object]]:
    """Yield a row for each Kafka version, reader and way: cases and older commits, cut and not."""
    reads = [(story.kafka, one) for story in every for one in story.reads]
    for key, of_key in figures.grouped(reads, lambda read: (read[0], read[1].reader, read[1].way)):
        own = [one for _, one in of_key]
        yield (
            *key,
            _of([one for one in own if one.is_cut]),
            _of([one for one in own if not one.is_cut]),
            f"{sum(one.exposed for one in own):,}",
            f"{sum(one.failed for one in own):,}",
        )


def of_java(every: Sequence[Story]) -> Iterator[str]:
    """Yield what Java's consumers were returned, by way, with its bound."""
    reads = [one for story in every for one in story.reads if one.reader.startswith("java")]
    for how in dict.fromkeys(one.how for one in reads):
        own = [one for one in reads if one.how == how]
        older, cases = sum(one.older for one in own), sum(one.cases for one in own)
        exposed = sum(one.exposed for one in own)
        yield f"`{how}`: {_of(own)} ({share(older, cases)}), {exposed:,} of them exposed"


def of_stories(every: Sequence[Story]) -> Iterator[Sequence[object]]:
    """Yield a row for each story."""
    for one in every:
        changes = ", ".join(f"{name} {number}" for name, number in one.changes.items())
        minutes = f"{one.seconds / 60:.0f}"
        yield one.kafka, one.wait_ms, one.seed, minutes, changes, one.cut, one.resets, one.verdict


def _of(own: Sequence[Reads]) -> str:
    return f"{sum(one.older for one in own):,} of {sum(one.cases for one in own):,}"
