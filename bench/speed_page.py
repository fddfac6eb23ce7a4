"""The page of `make bench-analysis`, from what was measured."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from bench.processes import Cost

_PAGE = """\
# How fast the checks are

Made by `make bench-analysis` on {machine}.
The times are valid for that machine only. The ratios can be compared with those of other machines.

Each time is that of one process, from its start to its end: the start of the JVM or of DuckDB,
planning, all checks and all their findings. Memory is the largest sum over the process and its
children. Spark and DuckDB may use every core and 4 GB (Spark's heap, DuckDB's buffers). They read
the same Parquet files and run the same functions of `analysis/checks`. For DuckDB,
`analysis/engine/spelling.py` translates the same statements: one for each table that checks share,
and one for the findings of each check. On a large trace, Spark compares digests
before it joins ([decision 10](decisions/0010-digests-before-joins.md)). DuckDB joins without
digests, because they do not make it faster.

## The same findings

Each class of anomalies is planted once ({rows:,} rows, seed {seed}). {checks} checks have
{findings:,} findings. All columns of the findings of Spark and DuckDB were compared: {same}.
{lacking}

## Against DuckDB, and by size

Clean histories of `fencepost generate`. The ratio is Spark's time to DuckDB's.

| events | rows | Spark s | DuckDB s | ratio | Spark s per million | DuckDB | Spark GB | DuckDB GB | findings |
|---|---|---|---|---|---|---|---|---|---|
{sizes}

{growth}## Spark standalone

The history of {clusters_events:,} events, on a master and workers. Each worker is bound to one core, with its JIT
compiler and garbage collector. The driver shares the workers' cores. So the number of workers is
the number of cores of the whole cluster.

| workers | seconds | speed-up | findings |
|---|---|---|---|
{clusters}
"""  # noqa: E501 - a table's heading is one line
_MILLION = 1_000_000
_GIGABYTE = 1 << 30


@dataclass(frozen=True)
class Size:
    """One clean history, judged by both.

    Attributes:
        events: rows of sends, polls and commits.
        rows: of all tables.
        spark: what Spark took.
        duckdb: what DuckDB took.
        differing: the checks that did not find the same.
    """

    events: int
    rows: int
    spark: Cost
    duckdb: Cost
    differing: Sequence[str]


@dataclass(frozen=True)
class Standalone:
    """A history judged by Spark standalone.

    Attributes:
        workers: how many, of one core each.
        seconds: what it took the driver, from its start to its end.
        differing: the checks that did not find what DuckDB did.
    """

    workers: int
    seconds: float
    differing: Sequence[str]


@dataclass(frozen=True)
class Planted:
    """A history with anomalies, judged by both.

    Attributes:
        rows: of all tables.
        checks: how many judged it.
        findings: how many they have in all.
        lacking: checks that lack a table there, and why.
        differing: the checks that did not find the same.
    """

    rows: int
    checks: int
    findings: int
    lacking: dict[str, str]
    differing: Sequence[str]


@dataclass(frozen=True)
class Measured:
    """All of it.

    Attributes:
        machine: cores, memory and versions, in words.
        seed: of the histories.
        planted: the history with anomalies.
        sizes: the clean histories, in the order of their sizes.
        clusters: the standalone clusters, one worker first.
        clusters_events: of the history that these judged.
    """

    machine: str
    seed: int
    planted: Planted
    sizes: Sequence[Size]
    clusters: Sequence[Standalone]
    clusters_events: int

    @property
    def differing(self) -> list[str]:
        """The checks that anywhere did not find the same."""
        of_sizes = [one.differing for one in self.sizes]
        of_clusters = [one.differing for one in self.clusters]
        told = [self.planted.differing, *of_sizes, *of_clusters]
        return sorted({name for names in told for name in names})


def page(measured: Measured) -> str:
    """The page in Markdown."""
    planted = measured.planted
    lacking = [f"Neither can judge `{name}` there: {why}." for name, why in planted.lacking.items()]
    return _PAGE.format(
        machine=measured.machine,
        rows=planted.rows,
        seed=measured.seed,
        checks=planted.checks,
        findings=planted.findings,
        same=_same(planted.differing),
        lacking="\n".join(lacking),
        sizes="\n".join(map(_size, measured.sizes)),
        growth="".join(f"{line}\n" for line in _growth(measured.sizes)),
        clusters_events=measured.clusters_events,
        clusters="\n".join(_clusters(measured.clusters)),
    )


def _size(one: Size) -> str:
    cells = (
        f"{one.events:,}",
        f"{one.rows:,}",
        f"{one.spark.seconds:.1f}",
        f"{one.duckdb.seconds:.1f}",
        f"**{one.spark.seconds / one.duckdb.seconds:.1f}**",
        f"{per_million(one.spark.seconds, one.events):.1f}",
        f"{per_million(one.duckdb.seconds, one.events):.1f}",
        f"{one.spark.peak_bytes / _GIGABYTE:.1f}",
        f"{one.duckdb.peak_bytes / _GIGABYTE:.1f}",
        _same(one.differing),
    )
    return f"| {' | '.join(cells)} |"


def _growth(sizes: Sequence[Size]) -> Iterator[str]:
    """Yield the growth of time and memory from each size to the next."""
    for smaller, larger in pairwise(sizes):
        events = larger.events / smaller.events
        more = larger.events - smaller.events
        yield f"From {smaller.events:,} to {larger.events:,} events, {events:.1f} times as many:"
        yield ""
        for engine, less, most in (
            ("Spark", smaller.spark, larger.spark),
            ("DuckDB", smaller.duckdb, larger.duckdb),
        ):
            time = most.seconds / less.seconds
            memory = most.peak_bytes / less.peak_bytes
            each = per_million(most.seconds - less.seconds, more)
            yield (
                f"- {engine}: {time:.1f} times the time, {memory:.1f} times the memory; "
                f"{each:.1f} s for each million more."
            )
        yield ""


def _clusters(clusters: Sequence[Standalone]) -> Iterator[str]:
    for one in clusters:
        speed_up = clusters[0].seconds / one.seconds
        same = _same(one.differing)
        yield f"| {one.workers} | {one.seconds:.0f} | **{speed_up:.2f}** | {same} |"


def per_million(seconds: float, events: int) -> float:
    """Seconds for a million events."""
    return seconds / events * _MILLION


def _same(differing: Sequence[str]) -> str:
    return f"**not the same: {', '.join(differing)}**" if differing else "the same"
