"""What permits a loss is one fact, which every check of a loss asks."""

from collections.abc import Callable
from pathlib import Path

import pytest

from analysis.checks.registry import CHECKS
from analysis.engine.frames import Frame
from analysis.engine.statement_files import sources
from analysis.facts.load import trace_of
from analysis.facts.source import table_files
from analysis.facts.trace import Trace
from bench.mutation import universes
from contract.checks import Check
from contract.run_folder import RunFolder
from simulator.history import description, write_history

LOSSES = {
    Check.ABORTED_READ,
    Check.COMMITTED_EPOCH_REGRESSED,
    Check.COMMITTED_EPOCH_STALE,
    Check.COMMIT_BEYOND_LOG,
    Check.COMMIT_BEYOND_PROCESSED,
    Check.DIVERGENT_READERS,
    Check.HANGING_TRANSACTION,
    Check.HIGH_WATERMARK_REGRESSED,
    Check.INCONSISTENT_OFFSET,
    Check.LEADER_COMPLETENESS,
    Check.LOG_DIVERGENCE,
    Check.LOST_COMMIT,
    Check.LOST_RECORD,
    Check.MISAPPLIED_MARKER,
    Check.OFFSETS_WITHOUT_OUTPUT,
    Check.ORPHAN_COMMIT,
    Check.OUTPUT_WITHOUT_OFFSETS,
    Check.RECORD_EPOCH_REGRESSED,
    Check.RESURRECTED_RECORD,
    Check.SERVED_UNDER_FENCED_EPOCH,
    Check.SKIPPED_RECORD,
    Check.TORN_TRANSACTION,
}
"""The checks that find records, markers, commits or offsets gone, or a group led past them."""


def test_each_check_of_a_loss_asks_what_permits_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    duckdb = pytest.importorskip("analysis.engine.duckdb", exc_type=ImportError)
    folder = RunFolder(tmp_path)
    write_history(folder, universes(1), description(1, "test", "0", {}))
    files = table_files(folder)
    asked = set()
    shared = Trace.shared

    def recorded(trace: Trace, name: str, build: Callable[[], Frame]) -> Frame:
        asked.add(name)
        return shared(trace, name, build)

    monkeypatch.setattr(Trace, "shared", recorded)
    without = set()
    for check in LOSSES:
        engine = duckdb.DuckDBEngine(threads=1, memory="1GB", spill=tmp_path)
        CHECKS[check].judge(trace_of(engine, folder, files))
        if "permits.permits" not in asked:
            without.add(check)
        asked.clear()
    assert without == set()


def test_each_check_that_names_a_permit_is_one_of_a_loss() -> None:
    naming = {
        check
        for check, definition in CHECKS.items()
        if any("permit.words" in case.cause for case in definition.cases)
    }
    assert naming - LOSSES == set()


def test_no_check_has_permits_of_its_own() -> None:
    """Elections are asked for by the check that judges them; wiped tails are no election."""
    asking = {name for name, source in sources("checks").items() if "elections" in source.tables}
    assert asking == {"eligible_leader_replicas", "unclean_election_unconfigured"}
