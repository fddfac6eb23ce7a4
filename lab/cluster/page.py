"""The part of docs/benchmarks.md about clusters and clients, of figures that `make bench` keeps."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from website.figures import is_kept, read_figures, render

NAME = "cluster_speed"
FIGURES = "figures.json"
"""In the folder of a run of the bench's scenario: its `Figures`."""
TOOLS = "FENCEPOST_BENCH_TOOLS"
"""In the environment of that scenario: the jar with Kafka's own programs."""
ROUNDS, DEMO_RUNS = 5, 3
WARM_UP_ROUNDS = 3
"""Of writing, before the measured ones: a JVM that has just started compiles as it writes."""
RECORDS = 200_000
"""That each program writes in a round."""
BARE, CLUSTER = "one bare broker", "3 brokers of the harness"
PRODUCER_PERFORMANCE, VERIFIABLE_PRODUCER = "ProducerPerformance", "VerifiableProducer"
CONSUMER_PERFORMANCE, VERIFIABLE_CONSUMER = "ConsumerPerformance", "VerifiableConsumer"
Figures = dict[str, dict[str, list[float]]]
"""By what was measured, and by which program: one figure for each round."""
_TEMPLATE = Path(__file__).with_name("cluster_speed.md.j2")


@dataclass(frozen=True)
class Collected:
    """What collecting some runs took.

    Attributes:
        megabytes: of all files of these runs.
        seconds: from the end of the clients until all is there and decoded.
        copy_seconds: what a copy of these files takes.
    """

    megabytes: float
    seconds: float
    copy_seconds: float


@dataclass(frozen=True)
class Measured:
    """All figures, of each round.

    Attributes:
        ready: seconds until the first value is acknowledged, by what was started.
        send: records a second, by program.
        poll: likewise.
        collected: of the runs of this bench.
        demo: seconds of each stage of the demo.
        kafka: the version.
        cores: of the machine.
        load: of the minute before.
    """

    ready: dict[str, list[float]]
    send: dict[str, list[float]]
    poll: dict[str, list[float]]
    collected: Collected
    demo: dict[str, list[float]]
    kafka: str
    cores: int
    load: float


def part(measured: Measured | None = None) -> str:
    """The part of docs/benchmarks.md, by default of the figures that are kept."""
    shown = measured or (read_figures(NAME, Measured) if is_kept(NAME) else None)
    return render(
        _TEMPLATE,
        measured=shown,
        ready=list(_rows(shown.ready, BARE, "{:.2f}")) if shown else [],
        send=list(_rows(shown.send, VERIFIABLE_PRODUCER, "{:,.0f}")) if shown else [],
        poll=list(_rows(shown.poll, CONSUMER_PERFORMANCE, "{:,.0f}")) if shown else [],
        demo=[_row(name, seconds, "{:.1f}") for name, seconds in shown.demo.items()]
        if shown
        else [],
        records=RECORDS,
        rounds=ROUNDS,
        warm_up_rounds=WARM_UP_ROUNDS,
        demo_runs=DEMO_RUNS,
        bare=BARE,
        verifiable=VERIFIABLE_PRODUCER,
        performance=CONSUMER_PERFORMANCE,
    )


def _rows(
    figures: Mapping[str, Sequence[float]], against: str, form: str
) -> Iterator[Sequence[object]]:
    """Yield a row for each program: its median and spread, and its median against another one's."""
    for name, values in figures.items():
        yield (*_row(name, values, form), f"{median(values) / median(figures[against]):.2f}")


def _row(name: str, values: Sequence[float], form: str) -> Sequence[object]:
    spread = " to ".join(form.format(number) for number in (min(values), max(values)))
    return (name, form.format(median(values)), spread)
