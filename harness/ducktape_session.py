"""Scenarios under ducktape, in a process (and, embedded, a sandbox) of their own."""

import os
import subprocess
import sys
from pathlib import Path

from docker.errors import DockerException
from rich.console import Console

from cluster.nodes.docker_pool import remove_orphans
from cluster.nodes.pool import PoolKind
from cluster.nodes.sandbox import start_in_sandbox
from cluster.nodes.tether import tethered
from harness.catalog import ScenarioFile
from harness.contract.errors import NodeError, PrerequisiteError
from harness.contract.refusal import refusal_in
from harness.contract.run_folder import PLAN_FILE, find_runs
from harness.phases import PREFIX
from harness.session import Session

_ROOT = Path(__file__).resolve().parent.parent
_TAIL_LINES = 40
_DUCKTAPE_LOG = "ducktape.log"


def run_ducktape(
    chosen: list[ScenarioFile],
    session: Session,
    *,
    results: Path,
    root: Path,
    console: Console,
) -> Path:
    """Run scenarios one after the other and return the session's folder.

    The pool is as large as the largest of them needs.

    A scenario that fails is told, and left to the analysis, which judges what it collected.

    Raises:
        PrerequisiteError: the pool of nodes could not be opened.
        NodeError: not one scenario got so far as to have a run folder; shows ducktape's last lines.
    """
    command = [
        sys.executable,
        "-m",
        "ducktape",
        *(str(scenario.path) for scenario in chosen),
        "--cluster=cluster.ducktape.PoolCluster",
        f"--results-root={results}",
        f"--globals={session.as_globals()}",
    ]
    environment = {
        **os.environ,
        "PYTHONPATH": str(_ROOT),
        "PYTHONUNBUFFERED": "1",
        "FENCEPOST_POOL_KIND": session.cluster,
        "FENCEPOST_POOL_SIZE": str(max(scenario.nodes for scenario in chosen)),
        "FENCEPOST_POOL_ROOT": str(root),
    }
    before = _latest(results)
    lines = _watch(command, environment, session, console)
    if (refused := refusal_in(lines)) is not None:
        raise refused
    folder = _latest(results)
    said = "\n".join(lines[-_TAIL_LINES:])
    if folder is None or folder == before or not list(folder.glob(f"**/{PLAN_FILE}")):
        raise NodeError(f"ducktape ran no scenario; it said at the end:\n{said}")
    (folder / _DUCKTAPE_LOG).write_text("\n".join(lines))
    _tell_errors(folder, console)
    return folder


def _tell_errors(folder: Path, console: Console) -> None:
    """Name the scenarios that did not come to their end, and why."""
    for run_folder in find_runs(folder):
        run = run_folder.run()
        if run.error is not None:
            told = f"{run.scenario} did not come to its end: {run.error}"
            console.print(told, style="red", markup=False, soft_wrap=True)


def _latest(results: Path) -> Path | None:
    """The newest session's folder, to which ducktape points a link."""
    link = results / "latest"
    return link.resolve() if link.exists() else None


def _watch(
    command: list[str],
    environment: dict[str, str],
    session: Session,
    console: Console,
) -> list[str]:
    """Run ducktape to its end, showing the phases that its scenarios tell; returns its output."""
    starter = start_in_sandbox if session.cluster == PoolKind.EMBEDDED else _start
    lines: list[str] = []
    process = starter(command, env=environment, cwd=_ROOT, stdout=subprocess.PIPE)
    try:
        with console.status("starting ducktape") as status:
            for raw in process.stdout or ():
                line = raw.decode(errors="replace").rstrip("\n")
                if line.startswith(PREFIX):
                    status.update(line.removeprefix(PREFIX))
                lines.append(line)
        process.wait()
    finally:
        process.terminate()
        process.wait()
        if session.cluster == PoolKind.DOCKER:
            _remove_containers(console)
    return lines


def _remove_containers(console: Console) -> None:
    """Remove what the run started; where the daemon is gone, say what remains to be done."""
    try:
        remove_orphans()
    except (DockerException, OSError, PrerequisiteError) as error:
        console.print(
            f"the Docker daemon does not answer ({error}): once it does, `make clean` removes what "
            "this run left",
            style="yellow",
            markup=False,
            soft_wrap=True,
        )


def _start(
    command: list[str], *, env: dict[str, str], cwd: Path, stdout: int
) -> "subprocess.Popen[bytes]":
    command = tethered(command)
    return subprocess.Popen(command, env=env, cwd=cwd, stdout=stdout, stderr=subprocess.STDOUT)
