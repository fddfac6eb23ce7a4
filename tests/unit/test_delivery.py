"""The summary of a night is handed to a command, which changes no verdict."""

import json
from pathlib import Path

import pytest

from contract.errors import UsageError
from harness.nightly import delivery
from harness.nightly.delivery import require_command, run_on_end


@pytest.fixture
def night(tmp_path: Path) -> Path:
    (tmp_path / "report").mkdir()
    (tmp_path / "report" / "summary.json").write_text('{"verdict": "pass"}')
    return tmp_path


def test_a_command_reads_the_summary_and_knows_the_night(night: Path) -> None:
    require_command(command := f'cat >"{night}/got"; printf %s "$FENCEPOST_NIGHT" >"{night}/where"')
    assert run_on_end(command, night) is None
    assert json.loads((night / "got").read_text()) == {"verdict": "pass"}
    assert (night / "where").read_text() == str(night)


def test_a_command_need_not_read_the_summary(night: Path) -> None:
    (night / "report" / "summary.json").write_text("x" * (1 << 20))
    assert run_on_end("true", night) is None


def test_a_command_that_fails_is_reported(night: Path) -> None:
    assert run_on_end("exit 3", night) == "the command of --on-end ended with status 3"


def test_a_command_that_does_not_end_is_killed_with_what_it_started(
    night: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(delivery, "SECONDS_MAX", 0.5)
    problem = run_on_end("sleep 60 & sleep 60", night) or ""
    assert "was killed" in problem


@pytest.mark.parametrize("command", ["", " ", "if", "echo 'x"])
def test_what_the_shell_can_not_read_is_refused(command: str) -> None:
    with pytest.raises(UsageError, match="--on-end takes a command of the shell"):
        require_command(command)
