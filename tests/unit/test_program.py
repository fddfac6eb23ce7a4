"""How programs of ours start and end: exit codes, interrupts, and what children import."""

import errno
import io
import os
import re
import signal
import subprocess
import sys
import threading
from pathlib import Path

import msgspec
import psutil
import pytest
import typer
from rich.console import Console

from contract import processes as child_module
from contract.errors import AnalysisError, InterruptError, PrerequisiteError
from contract.nights import PlannedRun
from contract.packages import PACKAGES, environment, python
from contract.processes import run_child
from contract.program import PhaseProgress, run_program
from contract.run_folder import RunFolder
from contract.verdicts import RunVerdict
from contract.waiting import wait_until
from harness.nightly.run import NightProgress
from harness.session.ducktape_session import salvage
from tests.descriptions import description_of, plan_of
from tests.made import make_struct
from tests.programs import ran, ran_python

# How a command ends: each way has its exit code, one line, and no traceback on the terminal.


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
        (OSError(errno.ENAMETOOLONG, "too long", "n" * 300), 64, "error: the name is too long: n"),
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


def run_in_folder(
    folder: Path, streams: str = "", **env: str
) -> "subprocess.CompletedProcess[bytes]":
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
    reported = run_in_folder(tmp_path, LC_ALL="C", **env)
    assert reported.returncode == 0, reported.stderr
    assert (tmp_path / "é").read_bytes() == "ä".encode()
    assert reported.stdout == "é \\ud800 \\udcff\n".encode()
    assert reported.stderr == b"C.UTF-8\n", "Java's files are, too"


@pytest.mark.parametrize("streams", [">&-", "2>&-", "<&-", "<&- >&- 2>&-"])
def test_closed_streams_are_no_files(streams: str, tmp_path: Path) -> None:
    reported = run_in_folder(tmp_path, streams, LC_ALL="C.UTF-8")
    assert reported.returncode == 0, reported.stderr
    assert (tmp_path / "file").read_bytes() == b"content"


@pytest.mark.parametrize(
    ("stream", "command", "code"),
    [
        ("stdout", ["list"], 141),
        ("stdout", ["--help"], 141),
        ("stdout", ["explain", "nowhere"], 64),
        ("stderr", ["analyze", "nowhere"], 64),
    ],
)
def test_a_pipe_that_nobody_reads_has_the_code_of_sigpipe_unless_there_is_an_error(
    stream: str, command: list[str], code: int
) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, stream: writer}
    ended = ran_python("-m", "harness", *command, cwd=ROOT, capture_output=False, **streams)
    os.close(writer)
    assert ended.returncode == code
    assert bool(ended.stderr) == (command[0] == "explain")


# No child of the program imports from the current folder, and one without a result is an error.


PARTS = ("analysis", "cluster", "contract", "extras", "harness", "scenarios", "simulator")
STARTS_PYTHON = re.compile(r'"-m"')
ONLY_HERE = {Path("contract/packages.py")}
HOSTILE = "raise SystemExit(0)\n"
WHAT = "the child"
TELLS = "from contract.processes import report_end; report_end(); raise SystemExit({})"


@pytest.fixture
def hostile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A current folder whose modules end a program that imports them, with success."""
    names = ("random", "html", "queue", "typer", "pyspark", "contract", "analysis", "duckdb")
    for name in names:
        (tmp_path / f"{name}.py").write_text(HOSTILE)
    monkeypatch.chdir(tmp_path)
    return tmp_path


PRINTS = "import random, html, queue, contract, sys; print(sys.path, random.__file__)"


@pytest.mark.parametrize("given", ["", ".", ":", "/nowhere:", ".:/nowhere", "relative"])
def test_the_current_folder_is_not_imported(
    given: str, hostile: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", given)
    inner = (
        f"import subprocess, sys; subprocess.run([sys.executable, '-c', {PRINTS!r}], check=True)"
    )
    for command in ([*python("json.tool")[:2], "-c", PRINTS], [sys.executable, "-c", inner]):
        ended = ran(*command, env=environment())
        assert ended.returncode == 0, ended.stderr
        assert str(PACKAGES) in ended.stdout
        assert str(hostile) not in ended.stdout


def test_absolute_folders_of_a_pythonpath_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", "/opt/spark/python::.")
    assert environment()["PYTHONPATH"] == f"{PACKAGES}{os.pathsep}/opt/spark/python"
    assert environment({"PYTHONPATH": "x"})["PYTHONPATH"] == str(PACKAGES)


@pytest.mark.parametrize("given", [".", ":", ".:"])
def test_the_command_line_itself_imports_nothing_of_the_current_folder(
    given: str, hostile: Path
) -> None:
    """As pip and uv write its script, which Python starts without `-P`."""
    (hostile / "signal.py").write_text(HOSTILE)
    script = (
        f"import sys; sys.path.append({str(ROOT)!r}); from fencepost.__main__ import main; main()"
    )
    (hostile / "bin").mkdir()
    (hostile / "bin" / "fencepost").write_text(script)
    ended = ran_python(
        str(hostile / "bin" / "fencepost"),
        "explain",
        "nowhere",
        env={**os.environ, "PYTHONPATH": given},
    )
    assert ended.returncode == 64, ended.stderr
    assert ended.stderr.startswith("error: ")


def test_an_output_that_can_not_be_written_is_reported() -> None:
    words = [sys.executable, "-m", "harness", "list"]
    ended = subprocess.run(
        ["sh", "-c", '"$@" >/dev/full', "sh", *words], cwd=ROOT, capture_output=True, check=False
    )
    assert ended.returncode == 69
    assert ended.stderr.startswith(
        b"error: standard output or a file can't be written: No space left"
    )
    assert ended.stderr.count(b"\n") == 1


@pytest.mark.parametrize(("streams", "code"), [("2>/dev/full", 64), (">/dev/full", 64)])
def test_an_error_that_can_not_be_written_has_its_exit_code(streams: str, code: int) -> None:
    words = [sys.executable, "-m", "harness", "explain", "nowhere"]
    ended = subprocess.run(
        ["sh", "-c", f'"$@" {streams}', "sh", *words], cwd=ROOT, capture_output=True, check=False
    )
    assert ended.returncode == code


@pytest.mark.parametrize(
    "arguments",
    [["explain", "nowhere"], ["open", "page.html", "--standalone", "file.html"]],
)
def test_a_command_ends_as_it_does_elsewhere(arguments: list[str], hostile: Path) -> None:
    (hostile / "page.html").write_text("<script src='other.js'></script>")
    ended = ran_python("-P", "-m", "harness", *arguments, env=environment())
    assert ended.returncode == 64, ended.stderr
    assert ended.stderr.startswith("error: ")


@pytest.mark.parametrize("status", [0, 1, 2, 64, 70])
def test_a_child_that_ends_without_its_result_is_an_error(status: int) -> None:
    with pytest.raises(AnalysisError, match=f"ended with status {status} and without a result"):
        run_child([sys.executable, "-c", f"raise SystemExit({status})"], what=WHAT)
    assert run_child([sys.executable, "-c", TELLS.format(status)], what=WHAT) == status


def test_a_child_that_was_killed_is_an_error() -> None:
    with pytest.raises(AnalysisError, match="killed by signal 9"):
        run_child([sys.executable, "-c", "import os; os.kill(os.getpid(), 9)"], what=WHAT)


def test_the_end_of_a_childs_child_is_not_that_of_the_child() -> None:
    inner = "from contract.processes import report_end; report_end()"
    outer = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {inner!r}], check=True)"
    with pytest.raises(AnalysisError, match="without a result"):
        run_child([sys.executable, "-c", outer], what=WHAT)


def test_python_is_started_at_one_place() -> None:
    files = {file for part in PARTS for file in (PACKAGES / part).rglob("*.py")}
    found = {file.relative_to(PACKAGES) for file in files if STARTS_PYTHON.search(file.read_text())}
    assert found == ONLY_HERE


# Ctrl-C: children end, one line is told, and what was collected is kept.


WHY = "the run was interrupted before it had collected all"
OF_CHILD = (
    "import os, sys; from contract.processes import run_child\n"
    "script = 'import os, time; print(os.getpid(), os.getsid(0), flush=True); time.sleep(60)'\n"
    "run_child([sys.executable, '-c', script], what='it')"
)
STARTED = 1_790_000_000_000_000


def test_an_interrupt_ends_a_child_that_no_terminal_interrupts() -> None:
    parent = subprocess.Popen(
        [sys.executable, "-c", OF_CHILD],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert parent.stdout is not None
    child, session = map(int, parent.stdout.readline().split())
    assert session == child
    parent.send_signal(signal.SIGINT)
    _, said = parent.communicate(timeout=30)
    assert said.rstrip().endswith("KeyboardInterrupt")
    with pytest.raises(ProcessLookupError):
        os.kill(child, 0)


LEFT = (
    "import os, signal, subprocess, sys, time\n"
    "one = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])\n"
    "one.send_signal(signal.SIGSTOP); print(one.pid, flush=True)\n"
)
KILLED, WAITS = "os.kill(os.getpid(), signal.SIGKILL)", "time.sleep(60)"


@pytest.mark.parametrize("then", [KILLED, WAITS])
def test_what_a_child_started_ends_with_it_though_it_is_stopped(
    then: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Spark's JVM ends when the analysis does, but not if it can't notice that."""
    monkeypatch.setattr(child_module, "_GROUP_SECONDS", 0.5)
    if then == WAITS:
        threading.Thread(target=interrupt_when_one_is_stopped).start()
    with pytest.raises((KeyboardInterrupt, AnalysisError)):
        run_child([sys.executable, "-c", LEFT + then], what="it")
    stopped = int(capfd.readouterr().out)
    wait_until(lambda: is_over(stopped), what="its end", timeout_seconds=30)


def interrupt_when_one_is_stopped() -> None:
    def is_one() -> bool:
        children = psutil.Process().children(recursive=True)
        return psutil.STATUS_STOPPED in {child.status() for child in children}

    wait_until(is_one, what="a child that is stopped", timeout_seconds=30)
    os.kill(os.getpid(), signal.SIGINT)


def is_over(process: int) -> bool:
    try:
        return psutil.Process(process).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


@pytest.mark.parametrize(
    ("number", "script"),
    [
        (signal.SIGTERM, ""),
        (signal.SIGHUP, ""),
        (signal.SIGINT, ""),
        (signal.SIGTERM, "trap '' INT; "),
        (signal.SIGHUP, "trap '' INT; "),
    ],
)
@pytest.mark.parametrize("imported", ["typer", "jinja2"])
def test_what_asks_the_command_line_to_end_is_an_interrupt(
    number: signal.Signals, script: str, imported: str, tmp_path: Path
) -> None:
    """Also where a script's background ignores Ctrl-C; while all is loaded, or a command."""
    waits = tmp_path / f"{imported}.py"
    # One long sleep would miss a signal that arrives just before it (Python's handler runs after).
    steps = "for _ in range(6000): time.sleep(0.01)"
    waits.write_text(f"import time\nprint('there', flush=True)\n{steps}\n")
    before = signal.signal(number, signal.SIG_DFL)  # What nohup starts ignores SIGHUP.
    process = subprocess.Popen(
        ["sh", "-c", f"{script}exec {sys.executable} -m harness new"],
        env={**os.environ, "PYTHONPATH": f"{tmp_path}:{ROOT}"},
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    signal.signal(number, before)
    assert process.stdout is not None
    assert process.stdout.readline() == "there\n"
    process.send_signal(number)
    _, said = process.communicate(timeout=30)
    assert (process.returncode, said) == (130, "error: interrupted\n")


INTERRUPTED_WHILE_STARTING = """
import os, signal, subprocess
from contract import processes
class Slow(subprocess.Popen):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        os.kill(os.getpid(), signal.SIGINT)
        print(self.pid, flush=True)
subprocess.Popen = Slow
processes.run_child(["sleep", "60"], what="it")
"""


def test_an_interrupt_while_a_child_starts_ends_it_too() -> None:
    ended = ran_python("-c", INTERRUPTED_WHILE_STARTING, timeout=30)
    assert ended.stderr.rstrip().endswith("KeyboardInterrupt")
    with pytest.raises(ProcessLookupError):
        os.kill(int(ended.stdout), 0)


def test_an_interrupt_while_the_command_line_is_loaded_is_one_line(tmp_path: Path) -> None:
    broken = tmp_path / "typer.py"
    broken.write_text("import os, signal; os.kill(os.getpid(), signal.SIGINT)\n")
    environment = {**os.environ, "PYTHONPATH": f"{tmp_path}:{ROOT}"}
    ended = ran_python("-m", "harness", env=environment, cwd=tmp_path)
    assert (ended.returncode, ended.stderr) == (130, "error: interrupted\n")


def describe_run(folder: RunFolder, *, ended_micros: int | None) -> None:
    folder.write_plan(plan_of(question=""))
    folder.write_run(description_of(started_micros=STARTED, ended_micros=ended_micros))


def test_a_run_that_was_broken_off_keeps_its_histories_and_says_why(tmp_path: Path) -> None:
    folder, root = RunFolder(tmp_path / "run"), tmp_path / "nodes"
    describe_run(folder, ended_micros=None)
    worker = root / "node-1" / "workers" / "clients"
    worker.mkdir(parents=True)
    (worker / "history.jsonl").write_bytes(b'{"seq":0')
    salvage(folder, root, why=WHY)
    assert folder.run().error == WHY
    assert folder.run().ended_micros is not None
    assert (folder.history / "clients.jsonl").read_bytes() == b'{"seq":0'
    assert (folder.tables / "histories.parquet").exists()


def test_a_run_that_was_ended_or_never_described_is_left_as_it_is(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "run")
    describe_run(folder, ended_micros=STARTED + 1)
    before = msgspec.json.encode(folder.run())
    salvage(folder, tmp_path, why=WHY)
    assert msgspec.json.encode(folder.run()) == before
    (folder.path / "run.json").write_bytes(b"{")
    salvage(folder, tmp_path, why=WHY)
    assert (folder.path / "run.json").read_bytes() == b"{"


# One line a phase: plain without a terminal, live on one.


PHASES = ("starting ducktape", "starting: servers", "starting: topics", "held: [kill] a broker")


class Clock:
    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


def printed_phases(phases: tuple[str, ...], *, is_terminal: bool, runs: int = 1) -> str:
    out, clock = io.StringIO(), Clock()
    console = Console(file=out, force_terminal=is_terminal, width=80, no_color=True)
    with PhaseProgress(console, runs=runs, clock=clock) as progress:
        for phase in phases:
            progress.phase(phase)
            clock.seconds += 2.5
    return out.getvalue()


def test_without_a_terminal_each_phase_is_a_plain_line_as_it_begins() -> None:
    assert printed_phases(PHASES, is_terminal=False).splitlines() == [
        "   0.0 s  starting ducktape",
        "   2.5 s  starting: servers (at most 120 s)",
        "   5.0 s  starting: topics (at most 120 s)",
        "   7.5 s  held: [kill] a broker (at most 180 s)",
    ]


def test_on_a_terminal_each_phase_remains_with_its_time() -> None:
    out = printed_phases(PHASES, is_terminal=True)
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
    lines = printed_phases((*PHASES, *PHASES[1:]), is_terminal=False, runs=2).splitlines()
    assert [line for line in lines if line.startswith("run")] == ["run 1 of 2", "run 2 of 2"]
    assert lines[1] == "run 1 of 2"


def night_shown(*, is_terminal: bool) -> str:
    run = make_struct(
        PlannedRun, id="1", scenario="canary", kafka="4.4.0", seed=5, expect=RunVerdict.FAIL
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
