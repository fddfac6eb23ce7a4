"""Scenarios under ducktape, in a process (and, embedded, a sandbox) of their own."""

import json
import shlex
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from docker.errors import DockerException

from cluster.ducktape import SCENARIO_ENDED
from cluster.kafka import class_data
from cluster.nodes.docker_pool import remove_orphans
from cluster.nodes.pool import PoolKind
from cluster.nodes.sandbox import Sandbox
from cluster.nodes.tether import tethered
from cluster.refusal import refusal_in
from contract.errors import InterruptError, NodeError, PrerequisiteError, RunFolderError
from contract.nights import SESSION_FILE
from contract.python import environment, python
from contract.run_folder import find_runs, has_runs
from contract.terminal import Terminal
from harness.invocation import Session
from harness.session.account import dropped, failure_of
from harness.session.catalog import ScenarioFile
from harness.session.names import NOTES, reserve_session
from harness.session.pool_size import pool_size
from harness.session.salvage import salvage
from harness.story.phases import PREFIX

PROGRAM = "harness.session.ducktape_program"
_console = Terminal(stderr=True)
_ABOVE_ALL = Path("/")
"""ducktape's working directory, to which it prints the paths of failed scenarios relatively."""
_TAIL_LINES = 40


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
    command = python(
        PROGRAM,
        *(str(scenario.path) for scenario in chosen),
        "--cluster=cluster.ducktape.PoolCluster",
        f"--results-root={results}",
        f"--globals={session.as_globals()}",
        *([f"--parameters={json.dumps(parameters)}"] if parameters else []),
    )
    asked = {
        "PYTHONUNBUFFERED": "1",
        "FENCEPOST_POOL_KIND": session.cluster,
        "FENCEPOST_POOL_SIZE": str(pool_size((one.path for one in chosen), session.builds)),
        "FENCEPOST_POOL_ROOT": str(root),
    }
    if session.cluster != PoolKind.DOCKER and (version := session.builds.of_servers.locked):
        _record_class_data(version, on_phase)
    folder, notes = reserve_session(results, root)
    try:
        start = _starter(session, [results, root, *writable])
        started = start(command, env=environment({**asked, NOTES: str(notes)}))
        exit_code, lines = _watch(started, session, on_phase)
        refused = refusal_in(lines)
        if not has_runs(folder):
            said = "\n".join(lines[-_TAIL_LINES:])
            raise refused or NodeError(f"ducktape ran no scenario; its last output:\n{said}")
        (folder / SESSION_FILE).write_text("\n".join(lines))
        for run in find_runs(folder):
            salvage(run, root, why=_how_ended(run.path, lines))
        _report_errors(folder)
    except KeyboardInterrupt:
        raise InterruptError(_kept(folder, root)) from None
    return DucktapeSession(folder, exit_code, tuple(dropped(lines, exit_code, refused)))


def _how_ended(folder: Path, lines: Sequence[str]) -> str:
    """Say how an unfinished scenario ended: by its error, or as ducktape's process saw it."""
    if (why := failure_of(folder, lines)) is not None:
        return f"{SCENARIO_ENDED}could not write its end: {why}"
    seen = [line for line in lines if line.startswith(SCENARIO_ENDED)]
    return f"{seen[-1] if seen else f'{SCENARIO_ENDED}ended'} before it had collected all"


def _record_class_data(kafka: str, on_phase: Callable[[str], None]) -> None:
    """Make the class data of a Kafka version if it is missing.

    If that fails, a warning is printed: servers start without class data too, but more slowly.
    """
    if (problem := class_data.ensure(kafka, on_phase=on_phase)) is not None:
        warning = f"Kafka {kafka} has no class data, so servers start more slowly: {problem}"
        _console.print(warning, style="yellow", soft_wrap=True)


def _kept(folder: Path, root: Path) -> str:
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
) -> tuple[int, list[str]]:
    """Follow ducktape to its end, and report its scenarios' phases; returns status and output."""
    lines: list[str] = []
    try:
        on_phase("starting ducktape")
        for raw in process.stdout or ():
            line = raw.decode(errors="replace").rstrip("\n")
            if line.startswith(PREFIX):
                on_phase(line.removeprefix(PREFIX))
            lines.append(line)
        exit_code = process.wait()
    finally:
        process.kill()
        process.wait()
        if session.cluster == PoolKind.DOCKER:
            _remove_containers()
    return exit_code, lines


def _remove_containers() -> None:
    """Remove the run's containers; if the daemon does not respond, print what to do."""
    try:
        remove_orphans()
    except (DockerException, OSError, PrerequisiteError) as error:
        _console.print(
            f"the Docker daemon does not respond ({error}), so containers of this run may remain. "
            "Start the daemon, then run `make clean` to remove them",
            style="yellow",
            soft_wrap=True,
        )


def _start(
    command: list[str], *, env: dict[str, str], cwd: Path, stdout: int
) -> "subprocess.Popen[bytes]":
    command = tethered(command)
    return subprocess.Popen(
        command,
        env=env,
        cwd=cwd,
        stdout=stdout,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
