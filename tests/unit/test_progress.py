"""One line a phase: plain without a terminal, live on one."""

import io
from collections.abc import Iterator

import pytest
from rich.console import Console

from contract.nights import PlannedRun
from contract.progress import PhaseProgress, limit_of
from contract.stages import PHASE_LIMIT_SECONDS, Stage
from contract.verdicts import RunVerdict
from harness.nightly.progress import NightProgress

PHASES = ("starting ducktape", "starting: servers", "starting: topics", "held: [kill] a broker")


class Clock:
    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


def shown(phases: tuple[str, ...], *, is_terminal: bool, runs: int = 1) -> str:
    out, clock = io.StringIO(), Clock()
    console = Console(file=out, force_terminal=is_terminal, width=80, no_color=True)
    with PhaseProgress(console, runs=runs, clock=clock) as progress:
        for phase in phases:
            progress.phase(phase)
            clock.seconds += 2.5
    return out.getvalue()


def test_without_a_terminal_each_phase_is_a_plain_line_as_it_begins() -> None:
    assert shown(PHASES, is_terminal=False).splitlines() == [
        "   0.0 s  starting ducktape",
        "   2.5 s  starting: servers (at most 120 s)",
        "   5.0 s  starting: topics (at most 120 s)",
        "   7.5 s  held: [kill] a broker (at most 180 s)",
    ]


def test_on_a_terminal_each_phase_remains_with_its_time() -> None:
    out = shown(PHASES, is_terminal=True)
    for phase in PHASES:
        assert f"   2.5 s  {phase}" in out
    assert "\x1b[?25h" in out, "the cursor is shown again"


def test_a_live_line_has_the_limit() -> None:
    out, clock = io.StringIO(), Clock()
    console = Console(file=out, force_terminal=True, width=80, no_color=True)
    with PhaseProgress(console, clock=clock) as progress:
        progress.phase(PHASES[1])
        clock.seconds += 7
        progress._line.refresh()  # noqa: SLF001 - otherwise a thread does so, some time
    assert "7 of 120 s" in out.getvalue()


def test_several_runs_are_numbered() -> None:
    lines = shown((*PHASES, *PHASES[1:]), is_terminal=False, runs=2).splitlines()
    assert [line for line in lines if line.startswith("run")] == ["run 1 of 2", "run 2 of 2"]
    assert lines[1] == "run 1 of 2"


def limits() -> Iterator[tuple[str, int | None]]:
    yield from ((f"{stage}: this", PHASE_LIMIT_SECONDS[stage]) for stage in Stage)
    yield "starting Spark", None


@pytest.mark.parametrize(("phase", "limit"), list(limits()))
def test_a_phase_has_the_limit_of_its_stage(phase: str, limit: int | None) -> None:
    assert limit_of(phase) == limit


def night_shown(*, is_terminal: bool) -> str:
    run = PlannedRun(
        id="1",
        scenario="canary",
        parameters={},
        kafka="4.4.0",
        seed=5,
        repeat=0,
        expect=RunVerdict.FAIL,
        rerun="",
    )
    out = io.StringIO()
    console = Console(file=out, force_terminal=is_terminal, width=160, no_color=True)
    with NightProgress(console, [run], []) as progress:
        progress.start(run)
        progress.phase("held: [kill] a broker")
        progress._bar.refresh()  # noqa: SLF001 - otherwise a thread does so, some time
        progress.end(run)
    return out.getvalue()


def test_a_night_has_one_plain_line_a_run_without_a_terminal() -> None:
    assert night_shown(is_terminal=False) == "0/1 canary 4.4.0, seed 5: ended in 0:00:00\n"


def test_a_night_shows_the_phase_with_its_limit_on_a_terminal() -> None:
    assert "canary 4.4.0: held: [kill] a broker (at most 180 s)" in night_shown(is_terminal=True)
