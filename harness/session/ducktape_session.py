"""Scenarios under ducktape, in a process (and, embedded, a sandbox) of their own."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from traceback import walk_tb
from types import ModuleType
from typing import Any

import msgspec
from docker.errors import APIError, DockerException

from cluster.ducktape import SCENARIO_ENDED
from cluster.kafka import class_data
from cluster.nodes.docker_client import explain_error
from cluster.nodes.docker_pool import remove_orphans
from cluster.nodes.node import NODES_MAX
from cluster.nodes.pool import PoolKind
from cluster.nodes.sandbox import Sandbox
from cluster.nodes.tether import tether_command
from cluster.refusal import refusal_in
from cluster.reports import PIPE, lines_of, reports
from contract.errors import (
    InterruptError,
    NodeError,
    PrerequisiteError,
    RunFolderError,
    UsageError,
    nearest,
)
from contract.files import copy_file, replace_file, replace_text
from contract.locks import alone_by, alone_in
from contract.nights import SESSION_FILE
from contract.packages import environment, python
from contract.program import Terminal
from contract.run_folder import RunFolder, find_runs, has_runs
from contract.software import Build
from harness.collection.collect import decode_clients
from harness.invocation import Session
from harness.session.account import dropped_tests, failure_of
from harness.session.catalog import ScenarioFile
from harness.session.hang import HangWatch, stacks_of_session
from harness.session.loading import load
from harness.story.mistakes import mistakes, require_no_mistake
from harness.story.phases import PREFIX
from harness.story.scenario import Scenario
from harness.story.soundness import require_declared

PROGRAM = "harness.session.ducktape_program"
_CLUSTER = "cluster.ducktape.PoolCluster"
_console = Terminal(stderr=True)
_ABOVE_ALL = Path("/")
"""ducktape's working directory, to which it prints the paths of failed scenarios relatively."""
_TAIL_LINES = 40
NOTES = "FENCEPOST_SESSION_NOTES"
"""In the environment of `harness.session.ducktape_program`: the folder with ducktape's file."""
_LOCK = "names.lock"
_LOCK_SECONDS = 60.0
_RESERVED = "session-folder"
_NOTES, _LAST_SESSION = "ducktape-notes", "session_id"
_COPIES = (("history.jsonl", "{}.jsonl"), ("client.log", "{}.log"), ("output.log", "{}.output.log"))


@dataclass(frozen=True)
class DucktapeSession:
    """The result of a ducktape session.

    Attributes:
        folder: of its runs.
        exit_code: not 0 if a scenario did not finish.
        dropped: what was asked for and came to nothing, a sentence each.
    """

    folder: Path
    exit_code: int
    dropped: tuple[str, ...] = ()


def run_ducktape(
    chosen: list[ScenarioFile],
    session: Session,
    *,
    results: Path,
    root: Path,
    on_phase: Callable[[str], None],
    parameters: Mapping[str, Any] | None = None,
    writable: Sequence[Path] = (),
) -> DucktapeSession:
    """Run scenarios one after the other.

    The pool has as many nodes as the largest of them needs.

    A failed scenario is reported, and the analysis judges what it collected.

    Args:
        chosen: the scenarios.
        session: seed, versions and pool.
        results: the parent of the session's folder.
        root: the folder for the nodes' files.
        on_phase: called with each phase as it begins.
        parameters: parameters of the scenarios' tests; None or empty: all that they declare.
        writable: further folders that scenarios write.

    Raises:
        UsageError: a scenario's file does not import, needs another pool, or is refused while none
            has a run folder.
        PrerequisiteError: the pool of nodes could not be opened.
        NodeError: no scenario has a run folder; shows ducktape's last lines.
        InterruptError: it was interrupted; says what is kept.
    """
    if session.cluster == PoolKind.LOOPBACK:
        for scenario in chosen:
            scenario.require_uncut(parameters or {})
    session = msgspec.structs.replace(
        session, named={scenario.name: scenario.named for scenario in chosen}
    )
    command = python(
        PROGRAM,
        *(scenario.symbol for scenario in chosen),
        f"--cluster={_CLUSTER}",
        f"--results-root={results}",
        f"--globals={session.as_globals()}",
        *([f"--parameters={json.dumps(parameters)}"] if parameters else []),
    )
    asked = {
        "PYTHONUNBUFFERED": "1",
        "FENCEPOST_POOL_KIND": session.cluster,
        "FENCEPOST_POOL_SIZE": str(
            pool_size((scenario.path for scenario in chosen), session.builds)
        ),
        "FENCEPOST_POOL_ROOT": str(root),
    }
    if session.cluster != PoolKind.DOCKER and (version := session.builds.of_servers.locked):
        _record_class_data(version, on_phase)
    folder, notes = reserve_session(results, root)
    try:
        start = _starter(session, [results, root, *writable])
        with reports(notes / "reports") as pipe:
            sent = {NOTES: str(notes), PIPE: str(notes / "reports")}
            started = start(command, env=environment({**asked, **sent}))
            program = command[: len(python(PROGRAM))]
            watch = HangWatch(
                partial(stacks_of_session, started.pid, root, notes, program), started.kill
            )
            exit_code, lines, reported = _watch(started, session, on_phase, watch, pipe)
        refused = refusal_in(reported)
        if watch.hung is not None:
            watch.hung.write(_hung_run(folder))
        if not has_runs(folder):
            if watch.hung is not None:
                raise NodeError(f"{watch.hung.why} in {folder}")
            if refused is not None:
                _forget(folder)
            said = "\n".join(lines[-_TAIL_LINES:])
            raise refused or NodeError(f"ducktape ran no scenario; its last output:\n{said}")
        replace_text(folder / SESSION_FILE, "\n".join(lines))
        for run in find_runs(folder):
            why = _how_ended(run.path, reported) if watch.hung is None else watch.hung.why
            salvage(run, root, why=why)
        _report_errors(folder)
    except KeyboardInterrupt:
        raise InterruptError(_keep_files(folder, root)) from None
    return DucktapeSession(folder, exit_code, tuple(dropped_tests(reported, exit_code, refused)))


def _forget(folder: Path) -> None:
    """Remove the folder of a session that was refused, and ducktape's link to it."""
    latest = folder.parent / "latest"
    if latest.is_symlink() and latest.resolve() == folder.resolve():
        latest.unlink()
    shutil.rmtree(folder, ignore_errors=True)


def _hung_run(folder: Path) -> Path:
    """Return the folder of the run that has no end; that of its session if there is none."""
    for run in find_runs(folder) if has_runs(folder) else ():
        with suppress(RunFolderError):
            if run.run().ended_micros is None:
                return run.path
    return folder


def _how_ended(folder: Path, reported: Sequence[str]) -> str:
    """Say how an unfinished scenario ended: by its error, or as ducktape's process saw it."""
    if (why := failure_of(folder, reported)) is not None:
        return f"{SCENARIO_ENDED}could not write its end: {why}"
    seen = [line for line in reported if line.startswith(SCENARIO_ENDED)]
    return f"{seen[-1] if seen else f'{SCENARIO_ENDED}ended'} before it had collected all"


def _record_class_data(kafka: str, on_phase: Callable[[str], None]) -> None:
    """Make the class data of a Kafka version if it is missing.

    If that fails, a warning is printed: servers start without class data too, but more slowly.
    """
    if (problem := class_data.ensure(kafka, on_phase=on_phase)) is not None:
        warning = f"Kafka {kafka} has no class data, so servers start more slowly: {problem}"
        _console.print(warning, style="yellow", soft_wrap=True)


def _keep_files(folder: Path, root: Path) -> str:
    """Salvage the files of an interrupted session into its run folders.

    Returns:
        The message for the user: what was kept, and the command that judges it.
    """
    if not has_runs(folder):
        return "nothing was collected"
    for run in find_runs(folder):
        salvage(run, root, why="the run was interrupted before it had collected all")
    again = shlex.join(["fencepost", "analyze", str(folder)])
    return f"the collected files are kept and were not analyzed. Analyze them with: {again}"


def _report_errors(folder: Path) -> None:
    """Print the scenarios that did not finish, and why; `dropped` has the others."""
    for run_folder in find_runs(folder):
        try:
            run = run_folder.run()
        except RunFolderError:
            continue
        if run.error is not None:
            message = f"{run.scenario} did not finish: {run.error}"
            _console.print(message, style="red", soft_wrap=True)


_Started = Callable[..., "Sandbox | subprocess.Popen[bytes]"]


def _starter(session: Session, writable: Sequence[Path]) -> _Started:
    """Return what starts ducktape with its output in a pipe, in a sandbox for the embedded pool."""
    starter: _Started = _start
    if session.cluster == PoolKind.EMBEDDED:
        starter = partial(Sandbox, writable=writable)
    return partial(starter, cwd=_ABOVE_ALL, stdout=subprocess.PIPE)


def _watch(
    process: "Sandbox | subprocess.Popen[bytes]",
    session: Session,
    on_phase: Callable[[str], None],
    watch: HangWatch,
    pipe: int,
) -> tuple[int, list[str], list[str]]:
    """Follow ducktape to its end, and report its scenarios' phases.

    Returns:
        its status, and what it printed and reported.
    """
    lines: list[str] = []
    reported: list[str] = []

    def begin(phase: str) -> None:
        if not session.is_endless:
            watch.phase(phase)
        on_phase(phase)

    try:
        begin("starting ducktape")
        for line, is_report in lines_of(process.stdout.fileno(), pipe) if process.stdout else ():
            (reported if is_report else lines).append(line)
            if is_report and line.startswith(PREFIX):
                begin(line.removeprefix(PREFIX))
        exit_code = process.wait()
    finally:
        watch.end()
        process.kill()
        process.wait()
        if session.cluster == PoolKind.DOCKER:
            remove_containers()
    return exit_code, lines, reported


_REMAINING = (
    "the Docker daemon {why}, so containers of this run may remain. {fix}, then run `fencepost "
    "clean` to remove them"
)


def remove_containers() -> None:
    """Remove the run's containers; print what stays, and what to do."""
    try:
        kept = remove_orphans().kept
    except APIError as error:
        why = f"refused a request ({explain_error(error)})"
        kept = (_REMAINING.format(why=why, fix="See the daemon's log"),)
    except (DockerException, OSError, PrerequisiteError) as error:
        why = f"does not respond ({error})"
        kept = (_REMAINING.format(why=why, fix="Start the daemon"),)
    for line in kept:
        _console.print(line, style="yellow", soft_wrap=True)


def _start(
    command: list[str], *, env: dict[str, str], cwd: Path, stdout: int
) -> "subprocess.Popen[bytes]":
    command = tether_command(command)
    return subprocess.Popen(
        command,
        env=env,
        cwd=cwd,
        stdout=stdout,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )


def reserve_session(results: Path, root: Path) -> tuple[Path, Path]:
    """Choose the folder of a new session, and let ducktape choose the same one.

    ducktape increments the id of the last session, which it keeps in a file. It fails if that file
    is damaged, or if the folder exists, e.g. in a copied results folder, or if two sessions begin
    at the same time. So each session has its own file.

    Args:
        results: the parent of the folder.
        root: of the session's nodes.

    Returns:
        the session's folder, which does not exist yet; and the one with ducktape's file.

    Raises:
        WaitTimeoutError: another process that chooses a name does not end.
    """
    results.mkdir(parents=True, exist_ok=True)
    day = time.strftime("%Y-%m-%d")
    with alone_by(
        root.parent / _LOCK,
        what=f"the names of other sessions in {results}",
        timeout_seconds=_LOCK_SECONDS,
    ):
        reserved = [
            Path(os.fsdecode(file.read_bytes())) for file in root.parent.glob(f"*/{_RESERVED}")
        ]
        there = [*results.iterdir(), *(path for path in reserved if path.parent == results)]
        matches = [re.fullmatch(rf"{day}--([0-9]{{3,9}})", path.name) for path in there]
        number = 1 + max((int(match[1]) for match in matches if match), default=0)
        folder = results / f"{day}--{number:03}"
        replace_file(root / _RESERVED, os.fsencode(folder))
    notes = root / _NOTES
    notes.mkdir()
    replace_text(notes / _LAST_SESSION, f"{day}--{number - 1:03}")
    return folder, notes


def salvage(folder: RunFolder, root: Path, *, why: str) -> None:
    """Copy the workers' histories and logs of an unfinished run, and note this in run.json.

    A run that was ended, or interrupted before it was described, is left as it is.

    Args:
        folder: of the run.
        root: the folder of the nodes' files; a container's files disappear with it.
        why: it was never ended.
    """
    try:
        described = folder.run()
    except RunFolderError:
        return
    if described.ended_micros is not None:
        return
    for source in sorted(root.glob("**/workers/*/history.jsonl")):
        for name, copied in _COPIES:
            target = folder.history if name == "history.jsonl" else folder.clients
            target.mkdir(parents=True, exist_ok=True)
            if (source.parent / name).is_file():
                copy_file(source.parent / name, target / copied.format(source.parent.name))
    ended = time.time_ns() // 1000
    folder.write_run(msgspec.structs.replace(described, ended_micros=ended, error=why))
    with alone_in(folder.path):
        decode_clients(folder, folder.tables)


def pool_size(files: Iterable[Path], build: Build) -> int:
    """Return the largest number of nodes that a scenario of these files needs.

    Args:
        files: of scenarios.
        build: what runs.

    Raises:
        UsageError: a file does not import, holds no scenario, or names something unknown.
    """
    return max(_node_count(file, build) for file in files)


def classes_of(file: Path, build: Build) -> list[type[Scenario]]:
    """Return the scenarios of a file, which names nothing unknown.

    Raises:
        UsageError: it does, does not import, or holds no scenario.
    """
    module = _import_file(file)
    found = [
        cls
        for cls in vars(module).values()
        if isinstance(cls, type) and issubclass(cls, Scenario) and cls.__module__ == module.__name__
    ]
    if not found:
        raise UsageError(
            f"{file} holds no subclass of Scenario: add one (fencepost docs your-scenario)"
        )
    if not (module.__doc__ or "").strip():
        raise UsageError(f"{file}:1: it has no docstring, whose first line is the question")
    for cls in found:
        for name, what in _DECLARED.items():
            if not hasattr(cls, name):
                raise UsageError(f"{file}: {cls.__name__} has no {name}: {what}")
        require_declared(
            module,
            answer=cls.answer,
            groups=cls.groups,
            producers=cls.producers,
            topology=cls.topology,
            must_judge=cls.must_judge,
            build=build,
        )
    require_no_mistake(module)
    return found


def _node_count(file: Path, build: Build) -> int:
    needed = max(cls.node_count() for cls in classes_of(file, build))
    if needed > NODES_MAX:
        raise UsageError(
            f"{file} needs {needed} nodes for its servers, workers and observer, and a pool has at "
            f"most {NODES_MAX}"
        )
    return needed


_DECLARED = {
    "topology": "set the size of its cluster, as Topology(brokers=3)",
    "must_judge": "name the checks that its question is about, as (Check.LOST_RECORD,)",
}
"""What a scenario's class has to have, and what it may be."""


def _import_file(file: Path) -> ModuleType:
    try:
        with _neighbours_of(file):
            return load(file, f"node_count_of_{file.stem}")
    except (Exception, SystemExit) as error:
        reached = [
            (line, frame.f_globals)
            for frame, line in walk_tb(error.__traceback__)
            if frame.f_code.co_filename == str(file)
        ]
        if not reached:
            raise UsageError(f"{file} does not import: {_in_words(error)}") from error
        line, named = reached[-1]
        for at, problem in () if isinstance(error, ImportError) else mistakes(file, named):
            raise UsageError(f"{file}:{at}: {problem}") from error
        raise UsageError(f"{file}:{line} does not import: {_in_words(error)}") from error


def _in_words(error: BaseException) -> str:
    """Return an error with its class; of a name that a module lacks, with the nearest one."""
    said = f"{type(error).__name__}: {error}"
    asked = re.search(r"cannot import name '(\w+)'", str(error))
    if not isinstance(error, ImportError) or asked is None or error.name not in sys.modules:
        return said
    meant = nearest(asked[1], dir(sys.modules[error.name]))
    return said if meant is None else f"{said}; the nearest is {meant}"


@contextmanager
def _neighbours_of(file: Path) -> Iterator[None]:
    """Modules beside a file can be imported, as ducktape lets them be."""
    before = sys.path[:]
    sys.path.insert(0, str(file.parent))
    try:
        yield
    finally:
        sys.path[:] = before
