"""What a night and a comparison of builds do alike: they carry out runs, and judge them."""

from collections.abc import Callable
from pathlib import Path

from rich.console import Console

from contract.errors import AnalysisError
from contract.nights import SUMMARY_FILE, NightSummary, PlannedRun, read_summary
from harness.commands.requirements import DEFAULT_KAFKA
from harness.nightly.progress import NightProgress
from harness.nightly.run import Ended, execute_in_ducktape, run_remaining
from harness.nightly.state import HeldNight, earlier_runs
from harness.session.provenance import session_of


def carry_out(
    night: HeldNight, results: Path, console: Console, *, on_phase: Callable[[str], None]
) -> None:
    """Carry out the remaining runs, and show the progress."""
    if not night.remaining:
        return
    session = session_of(seed=night.state.seed, kafka=DEFAULT_KAFKA, cluster=night.state.cluster)
    earlier = earlier_runs(night.path.parent, night.state)
    with NightProgress(console, night.state.runs, earlier) as progress:

        def phase(name: str) -> None:
            progress.phase(name)
            on_phase(name)

        def execute(run: PlannedRun, folder: Path) -> Ended:
            return execute_in_ducktape(
                run, folder, results=results, session=session, on_phase=phase
            )

        run_remaining(night, execute, on_start=progress.start, on_end=progress.end)


def judged(night: HeldNight, judge: Callable[[Path], int], *, again: str) -> NightSummary:
    """Judge all runs in one process.

    Args:
        night: whose runs have ended.
        judge: writes the summary of a night's folder; returns its exit status.
        again: what the same command does if it is started again.

    Raises:
        AnalysisError: there is no summary; the runs are kept.
    """
    file = night.path / "report" / SUMMARY_FILE
    earlier = _written(file)
    try:
        how = f"the analysis ended with status {judge(night.path)}"
    except AnalysisError as error:
        how = str(error)
    summary = read_summary(night.path)
    if summary is None or _written(file) == earlier:
        raise AnalysisError(
            f"{how}, and there is no summary of {night.path}. All runs are done and kept: start "
            f"the same command again to {again}"
        )
    return summary


def _written(file: Path) -> tuple[int, int] | None:
    """What distinguishes a file from one that is put in its place; None if there is none."""
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns
