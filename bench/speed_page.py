"""The page of `make bench-analysis`, from what was measured."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from bench.processes import Cost
from contract.markdown import table_row

_PAGE = """\
# How fast the checks are

Made by `make bench-analysis` on {machine}.
The times are valid for that machine only. The ratios can be compared with those of other machines.

Each time is that of one process, from its start to its end: the start of the JVM or of DuckDB,
planning, all checks and all their findings. CPU time and memory are those of the process and its
children: the sum over all cores, and the largest sum at one time. Spark and DuckDB may use every
core and 4 GB (Spark's heap, DuckDB's buffers). They read the same Parquet files and run the same
functions of `analysis/checks`. For DuckDB, `analysis/engine/spelling.py` translates the same
statements: one for each table that checks share, and one for the findings of each check.

All histories are made by `fencepost generate`. Rows are those of single records, of which one range
may hold many. `clean` histories have no anomaly. In `unhealthy` ones, every group reads everything
three times. In `fragmented` ones, a producer writes to 60 partitions by key, with one record a
batch, so that almost no range holds two records.

## The same findings

Each class of anomalies is planted once ({rows:,} rows, seed {seed}). {checks} checks have
{findings:,} findings. All columns of the findings of Spark and DuckDB were compared: {same}.
{lacking}

## A small history

A clean history of {small_rows:,} rows, about as many as a short run has. `fencepost analyze` takes
{command_seconds:.1f} s from Enter to the written report, and {command_cpu:.1f} s of CPU. All checks
alone, with the start of the JVM, take {small_seconds:.1f} s ({small_share:.0%} of what the user
waits) and {small_cpu:.1f} s of CPU ({small_cpu_share:.0%}).

## Against DuckDB, and by size

The ratio is Spark's time to DuckDB's.

| history | events | rows | Spark s | Spark CPU s | DuckDB s | DuckDB CPU s | ratio | Spark s per million | DuckDB | Spark GB | DuckDB GB | findings |
|---|---|---|---|---|---|---|---|---|---|---|---|---|
{sizes}

{growth}{earlier}## Spark standalone

The history of {clusters_events:,} events, on a master and workers. Each worker is bound to one core, with its JIT
compiler and garbage collector. The driver shares the workers' cores. So the number of workers is
the number of cores of the whole cluster.

| workers | seconds | speed-up | findings |
|---|---|---|---|
{clusters}
"""  # noqa: E501 - a table's heading is one line
_EARLIER = """\
## Against {commit}

Revision {commit} of the project in the same run, on Spark. It generates its own histories from the
same seed, and judges them with its own code. Histories of a kind that it can't generate are
converted to its tables. The ratio is its time to the present time.

| history | events | {commit} s | now s | ratio | {commit} CPU s | now CPU s | ratio | findings of {commit} | now |
|---|---|---|---|---|---|---|---|---|---|
{rows}

"""  # noqa: E501 - a table's heading is one line
_MILLION = 1_000_000
_GIGABYTE = 1 << 30


@dataclass(frozen=True)
class Earlier:
    """What an earlier revision took for the same history, and the number of its findings."""

    cost: Cost
    findings: int


@dataclass(frozen=True, kw_only=True)
class Size:
    """One history without anomalies, judged by both.

    Attributes:
        kind: of the history.
        events: rows of sends, polls and commits.
        rows: of all tables.
        spark: what Spark took.
        duckdb: what DuckDB took.
        findings: how many there are.
        differing: the checks that did not find the same.
        earlier: of an earlier revision on Spark, if one was measured.
    """

    kind: str
    events: int
    rows: int
    spark: Cost
    duckdb: Cost
    findings: int
    differing: Sequence[str]
    earlier: Earlier | None = None


@dataclass(frozen=True)
class Small:
    """A small history.

    Attributes:
        size: the cost of its checks.
        command: the cost of `fencepost analyze`, with the report.
        earlier: the same of an earlier revision.
    """

    size: Size
    command: Cost
    earlier: Cost | None = None


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
        small: a small history.
        sizes: the clean histories, in the order of their sizes.
        others: histories of the other kinds.
        clusters: the standalone clusters, one worker first.
        clusters_events: of the history that these judged.
        earlier: the earlier revision, if one was measured.
    """

    machine: str
    seed: int
    planted: Planted
    small: Small
    sizes: Sequence[Size]
    others: Sequence[Size]
    clusters: Sequence[Standalone]
    clusters_events: int
    earlier: str = ""

    @property
    def differing(self) -> list[str]:
        """The checks that anywhere did not find the same."""
        of_sizes = [one.differing for one in (self.small.size, *self.sizes, *self.others)]
        of_clusters = [one.differing for one in self.clusters]
        told = [self.planted.differing, *of_sizes, *of_clusters]
        return sorted({name for names in told for name in names})


def page(measured: Measured) -> str:
    """The page in Markdown."""
    planted, small, command = measured.planted, measured.small.size, measured.small.command
    lacking = [f"Neither can judge `{name}` there: {why}." for name, why in planted.lacking.items()]
    return _PAGE.format(
        machine=measured.machine,
        rows=planted.rows,
        seed=measured.seed,
        checks=planted.checks,
        findings=planted.findings,
        same=_same(planted.differing),
        lacking="\n".join(lacking),
        small_rows=small.rows,
        command_seconds=command.seconds,
        command_cpu=command.cpu_seconds,
        small_seconds=small.spark.seconds,
        small_share=small.spark.seconds / command.seconds,
        small_cpu=small.spark.cpu_seconds,
        small_cpu_share=small.spark.cpu_seconds / command.cpu_seconds,
        sizes="\n".join(map(_size, (small, *measured.sizes, *measured.others))),
        growth="".join(f"{line}\n" for line in _growth(measured.sizes)),
        earlier=_earlier(measured),
        clusters_events=measured.clusters_events,
        clusters="\n".join(_clusters(measured.clusters)),
    )


def _size(one: Size) -> str:
    cells = (
        one.kind,
        f"{one.events:,}",
        f"{one.rows:,}",
        f"{one.spark.seconds:.1f}",
        f"{one.spark.cpu_seconds:.1f}",
        f"{one.duckdb.seconds:.1f}",
        f"{one.duckdb.cpu_seconds:.1f}",
        f"**{one.spark.seconds / one.duckdb.seconds:.1f}**",
        f"{per_million(one.spark.seconds, one.events):.1f}",
        f"{per_million(one.duckdb.seconds, one.events):.1f}",
        f"{one.spark.peak_bytes / _GIGABYTE:.1f}",
        f"{one.duckdb.peak_bytes / _GIGABYTE:.1f}",
        _same(one.differing),
    )
    return table_row(*cells)


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
            cpu = per_million(most.cpu_seconds - less.cpu_seconds, more)
            yield (
                f"- {engine}: {time:.1f} times the time, {memory:.1f} times the memory; "
                f"{each:.1f} s for each million more, and {cpu:.1f} s of CPU."
            )
        yield ""


def _earlier(measured: Measured) -> str:
    """Return the section about an earlier revision; empty if none was measured."""
    small, rows = measured.small, []
    if small.earlier is not None:
        cells = _against(small.earlier, small.command)
        rows.append(f"| clean, `fencepost analyze` | {small.size.events:,} | {cells} | | |")
    for one in (small.size, *measured.sizes, *measured.others):
        if one.earlier is not None:
            cells = _against(one.earlier.cost, one.spark)
            found = f"{one.earlier.findings:,} | {one.findings:,}"
            rows.append(f"| {one.kind} | {one.events:,} | {cells} | {found} |")
    return _EARLIER.format(commit=measured.earlier, rows="\n".join(rows)) if rows else ""


def _against(earlier: Cost, now: Cost) -> str:
    pairs = (earlier.seconds, now.seconds), (earlier.cpu_seconds, now.cpu_seconds)
    return " | ".join(f"{old:.1f} | {new:.1f} | **{old / new:.1f}**" for old, new in pairs)


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
