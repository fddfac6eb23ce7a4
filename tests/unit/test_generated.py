"""Generated histories pass every check."""

from pathlib import Path

import pytest
from conftest import TraceReader

from analysis.verdict.judge import judge
from contract.run_folder import RunFolder
from contract.verdicts import CheckVerdict, RunVerdict
from simulator.history import Request, description, universes_of, write_history


@pytest.mark.parametrize(
    ("events", "kind"), [(2_000, "clean"), (3_000, "unhealthy"), (12_000, "fragmented")]
)
def test_a_generated_history_passes_all_checks(
    read_run: TraceReader, tmp_path: Path, events: int, kind: str
) -> None:
    folder, asked = RunFolder(tmp_path), Request(events=events, seed=3, kind=kind)
    write_history(folder, universes_of(asked), description(asked.seed, "test", "0", {}))
    verdict = judge(read_run(folder))
    reported = {
        name: (result.verdict, result.reason, result.examples[:1])
        for name, result in verdict.checks.items()
        if result.verdict in (CheckVerdict.VIOLATED, CheckVerdict.UNDECIDED)
    }
    assert reported == {}
    assert verdict.verdict is RunVerdict.PASS
