"""A run whose story never ends is stopped, and its stacks are kept."""

from pathlib import Path

import psutil
import pytest
from command import POOL, ran, run_to_end

from contract.run_folder import STACKS_FOLDER, find_runs
from harness.session import hang
from harness.session.catalog import read_scenario

pytestmark = [pytest.mark.live, pytest.mark.long, pytest.mark.timeout(400)]


def test_a_story_that_never_ends_is_stopped_with_its_stacks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits = {"steady": 10}
    monkeypatch.setattr(hang, "limit_of", lambda phase: limits.get(phase.partition(":")[0], 120))
    folder = ran(read_scenario(Path(__file__).with_name("endless_test.py")), tmp_path, POOL)
    (run,) = find_runs(folder)
    error = run.run().error or ""
    assert "'steady: waiting for what never comes' took longer than 20 s" in error
    stacks = {path.stem: path.read_text() for path in (run.path / STACKS_FOLDER).iterdir()}
    (broker,) = (text for name, text in stacks.items() if "kafka" in name)
    (clients,) = (text for name, text in stacks.items() if "clients" in name)
    for text in (broker, clients):
        assert "Full thread dump" in text
        assert '"main"' in text
    assert "in test_endless" in stacks["scenario"]
    assert (run.history / "driver.jsonl").exists()
    commands = [process.info["cmdline"] or [] for process in psutil.process_iter(["cmdline"])]
    assert not [words for words in commands if any(str(folder) in word for word in words)]
    code, said = run_to_end("analyze", str(run.path))
    assert code == 2, said
    page = (run.report / "index.html").read_text()
    for name in stacks:
        assert f'href="../stacks/{name}.txt"' in page
