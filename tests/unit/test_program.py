"""How a command ends: each way has its exit code, one line, and no traceback on the terminal."""

import sys
from pathlib import Path

import pytest
import typer

from contract.errors import InterruptError, PrerequisiteError
from contract.program import run_program


def ending(error: BaseException | None) -> typer.Typer:
    app = typer.Typer()

    @app.command()
    def command() -> None:
        if error is not None:
            raise error

    return app


@pytest.mark.parametrize(
    ("error", "code", "words"),
    [
        (None, 0, ""),
        (typer.Exit(2), 2, ""),
        (KeyboardInterrupt(), 130, "error: interrupted"),
        (InterruptError("all is kept"), 130, "error: interrupted: all is kept"),
        (typer.BadParameter("no such thing"), 64, "error: Invalid value: no such thing"),
        (PrerequisiteError("install Java"), 69, "error: install Java"),
        (ZeroDivisionError("by nothing\nat all"), 70, "error: unexpected ZeroDivisionError: by"),
    ],
)
def test_each_end_has_its_code(
    error: BaseException | None,
    code: int,
    words: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(sys, "argv", ["command"])
    with pytest.raises(SystemExit) as ended:
        run_program(ending(error))
    assert (ended.value.code or 0) == code
    said = capsys.readouterr().err.strip()
    assert said.startswith(words)
    assert len(said.splitlines()) <= 1


def test_the_traceback_of_an_unexpected_error_is_kept_in_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["command"])
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with pytest.raises(SystemExit):
        run_program(ending(ValueError("[bold]markup[/] stays as it is")))
    (kept,) = tmp_path.glob("*.traceback.txt")
    assert str(kept) in (said := capsys.readouterr().err)
    assert "[bold]markup[/]" in said
    assert "Traceback" in kept.read_text()
