"""What a cluster and its clients cost, beside Kafka's own programs: `python -m lab.cluster`.

`make bench` starts clusters of the embedded pool. It measures how soon the first value is
acknowledged, how many records a second clients write and read, how fast a run is collected, and
where the time of the demo goes. Keeps the figures of docs/benchmarks.md.
"""

import os
import shutil
import sys
import time
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

import msgspec
from rich.console import Console

from cluster.kafka import distribution
from cluster.kafka.download import alone_in, download, repository_root
from cluster.kafka.lock import read_lock
from cluster.nodes.pool import PoolKind
from contract.errors import FencepostError
from contract.events import PhaseEntered
from contract.files import cache_folder
from contract.run_folder import RunFolder, find_runs, new_seed
from contract.terms import Stage
from harness.commands.requirements import DEFAULT_KAFKA
from harness.decode.lines import histories
from harness.invocation import session_of
from harness.session.catalog import read_scenario
from harness.session.ducktape_session import run_ducktape
from harness.session.node_root import node_root
from lab.cluster.page import DEMO_RUNS, FIGURES, NAME, TOOLS, Collected, Figures, Measured
from lab.folders import own_folder
from lab.processes import FENCEPOST, ROOT, run_measured
from website.figures import keep

_SCENARIO = read_scenario(Path(__file__).with_name("speed_test.py"))
_DEMO = "commit_epoch"
_MEGABYTE = 1 << 20


def _tools() -> Path:
    """Return the jar with Kafka's own programs, in the cache, verified by its lock."""
    (artifact,) = read_lock(DEFAULT_KAFKA, Path(__file__).parent).artifacts
    folder = cache_folder() / "bench" / DEFAULT_KAFKA
    with alone_in(folder):
        download(artifact, repository=repository_root(), folder=folder, advance=lambda _: None)
    return folder / artifact.file_name


def _scenario(place: Path, console: Console) -> tuple[Figures, list[Collected]]:
    """Run the scenario; returns its figures, and how its runs were collected."""
    os.environ[TOOLS] = str(_tools())
    distribution.ensure(DEFAULT_KAFKA)
    session = session_of(seed=new_seed(), kafka=DEFAULT_KAFKA, cluster=PoolKind.EMBEDDED.value)
    figures: Figures = {}
    with node_root(place) as root, console.status("starting") as status:
        ended = run_ducktape([_SCENARIO], session, results=place, root=root, on_phase=status.update)
    runs = find_runs(ended.folder)
    for run in runs:
        figures |= msgspec.json.decode((run.path / FIGURES).read_bytes(), type=Figures)
    return figures, [_time_collection(run, place) for run in runs]


def _time_collection(run: RunFolder, place: Path) -> Collected:
    """How long a run took to be collected, and a copy of what was collected takes."""
    copy = place / "copy"
    began = time.monotonic()
    shutil.copytree(run.path, copy)
    seconds = time.monotonic() - began
    size = sum(file.stat().st_size for file in copy.rglob("*") if file.is_file())
    shutil.rmtree(copy)
    stages = _stages(run)
    return Collected(size / _MEGABYTE, stages[Stage.COLLECTING], seconds)


def _stages(run: RunFolder) -> dict[str, float]:
    """The seconds of each stage, in their order."""
    (driver,) = (history for history in histories(run.history) if history.name == "driver")
    entered = [event for event in driver.events if isinstance(event, PhaseEntered)]
    ends = [event.wall_micros for event in entered[1:]] + [run.run().ended_micros or 0]
    seconds: dict[str, float] = defaultdict(float)
    for event, end in zip(entered, ends, strict=True):
        seconds[event.stage] += (end - event.wall_micros) / 1e6
    return seconds


def _demo(place: Path, console: Console) -> dict[str, list[float]]:
    """Where the seconds of `fencepost run commit_epoch` go, from Enter to its end."""
    waterfall: dict[str, list[float]] = defaultdict(list)
    for number in range(DEMO_RUNS):
        results = place / f"demo-{number}"
        began = time.time()
        argv = [*FENCEPOST, "run", _DEMO, "--results", str(results)]
        with console.status(f"demo {number + 1} of {DEMO_RUNS}"):
            cost = run_measured(argv, on_line=lambda _: None, environment=os.environ, folder=ROOT)
        (run,) = find_runs(results / "latest")
        described = run.run()
        parts = {
            "until the servers' start": described.started_micros / 1e6 - began,
            **_stages(run),
            "judged and written": began + cost.seconds - (described.ended_micros or 0) / 1e6,
            "all": cost.seconds,
        }
        for name, seconds in parts.items():
            waterfall[name].append(seconds)
    return waterfall


def _sums(figures: Iterable[Collected]) -> Collected:
    every = list(figures)
    return Collected(
        sum(figure.megabytes for figure in every),
        sum(figure.seconds for figure in every),
        sum(figure.copy_seconds for figure in every),
    )


def main() -> None:
    """Keep the figures."""
    console = Console(stderr=True)
    load = os.getloadavg()[0]
    try:
        with own_folder("bench") as place:
            figures, collected = _scenario(place, console)
            demo = _demo(place, console)
    except FencepostError as error:
        sys.exit(f"error: {error}")
    measured = Measured(
        ready=figures["ready"],
        send=figures["send"],
        poll=figures["poll"],
        collected=_sums(collected),
        demo=demo,
        kafka=DEFAULT_KAFKA,
        cores=os.cpu_count() or 0,
        load=load,
    )
    console.print(f"wrote {keep(NAME, measured)}")


if __name__ == "__main__":
    main()
