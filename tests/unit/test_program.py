"""How a command ends: each way has its exit code, one line, and no traceback on the terminal."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import typer

from contract.errors import InterruptError, PrerequisiteError
from contract.program import run_program

ROOT = Path(__file__).resolve().parents[2]


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


PROGRAM = """
import os, sys
from pathlib import Path
import typer
from contract.program import run_program

app = typer.Typer()

@app.command()
def command(folder: str) -> None:
    Path(folder, "é").write_text("ä", newline="")
    with open(Path(folder, "file"), "w") as file:
        os.write(file.fileno(), b"content")
    print("é \\ud800 \\udcff")
    print(os.environ.get("LC_ALL"), file=sys.stderr)

run_program(app)
"""


def ended(folder: Path, streams: str = "", **env: str) -> "subprocess.CompletedProcess[bytes]":
    file = folder / "program.py"
    file.write_text(PROGRAM)
    words = [sys.executable, str(file), str(folder)]
    return subprocess.run(
        ["sh", "-c", f'"$@" {streams}', "sh", *words],
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), **env},
        capture_output=True,
        check=False,
    )


@pytest.mark.parametrize("env", [{}, {"PYTHONUTF8": "0"}, {"PYTHONCOERCECLOCALE": "0"}])
def test_files_are_utf_8_whatever_the_locale(env: dict[str, str], tmp_path: Path) -> None:
    told = ended(tmp_path, LC_ALL="C", **env)
    assert told.returncode == 0, told.stderr
    assert (tmp_path / "é").read_bytes() == "ä".encode()
    assert told.stdout == "é \\ud800 \\udcff\n".encode()
    assert told.stderr == b"C.UTF-8\n", "Java's files are, too"


@pytest.mark.parametrize("streams", [">&-", "2>&-", "<&-", "<&- >&- 2>&-"])
def test_closed_streams_are_no_files(streams: str, tmp_path: Path) -> None:
    told = ended(tmp_path, streams, LC_ALL="C.UTF-8")
    assert told.returncode == 0, told.stderr
    assert (tmp_path / "file").read_bytes() == b"content"


@pytest.mark.parametrize(
    "command",
    [
        ["list"],
        ["list", "--json"],
        ["--help"],
        ["patch", "list"],
        ["explain", "nowhere"],
    ],
)
def test_a_pipe_that_nobody_reads_has_the_code_of_sigpipe(command: list[str]) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    ended = subprocess.run(
        [sys.executable, "-m", "harness", *command],
        cwd=ROOT,
        stdout=writer,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    os.close(writer)
    is_of_errors = command[0] == "explain"
    assert ended.returncode == (64 if is_of_errors else 141)
    assert bool(ended.stderr) == is_of_errors


def test_an_error_that_nobody_reads_keeps_its_code() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-m", "harness", "analyze", "nowhere"]
    ended = subprocess.run(command, cwd=ROOT, stderr=writer, check=False)
    os.close(writer)
    assert ended.returncode == 64
