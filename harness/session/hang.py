"""A run that hangs: it is stopped, and the stacks of its processes are kept."""

import signal
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import msgspec
import psutil
from docker.errors import DockerException

from cluster.nodes.docker_client import connect
from cluster.nodes.docker_node import PYTHON
from cluster.nodes.pool import CONTAINERS_FILE
from cluster.nodes.stacks import PRINT_SECONDS, stacks_of
from contract.errors import PrerequisiteError, WaitTimeoutError
from contract.files import replace_text
from contract.packages import python
from contract.program import limit_of
from contract.run_folder import STACKS_FOLDER
from contract.terms import HUNG_AFTER, PHASE_LIMIT_SECONDS, Stage
from contract.waiting import wait_until

DRIVER_STACKS = "driver-stacks.txt"
"""In the folder of ducktape's notes: what its processes print on SIGQUIT."""
_BEFORE_PHASES_SECONDS = PHASE_LIMIT_SECONDS[Stage.COLLECTING]
"""The limit of what is no stage of a run, such as the start of ducktape."""


@dataclass(frozen=True)
class Hung:
    """A run that hung: its phase and how long that may take, and the stacks by process."""

    phase: str
    seconds: float
    stacks: Mapping[str, str]

    @property
    def why(self) -> str:
        """Why the run was stopped."""
        return (
            f"the run hung and was stopped: {self.phase!r} took longer than {self.seconds:g} s, "
            f"{HUNG_AFTER} times its limit. The stacks of its processes are in {STACKS_FOLDER}/"
        )

    def write(self, folder: Path) -> None:
        """Write the stacks into a run's folder, a file for each process."""
        (folder / STACKS_FOLDER).mkdir(parents=True, exist_ok=True)
        for name, text in self.stacks.items():
            replace_text(folder / STACKS_FOLDER / f"{name}.txt", text)


class HangWatch:
    """Looks whether each phase ends in time; stops the session of one that does not."""

    def __init__(self, stacks: Callable[[], Mapping[str, str]], stop: Callable[[], None]) -> None:
        """`stacks`: those of all processes of the session; `stop`: ends them."""
        self._stacks = stacks
        self._stop = stop
        self._timer: threading.Timer | None = None
        self.hung: Hung | None = None

    def phase(self, name: str) -> None:
        """Note that a phase begins, by which the one before has ended."""
        self.end()
        seconds = HUNG_AFTER * (limit_of(name) or _BEFORE_PHASES_SECONDS)
        self._timer = threading.Timer(seconds, self._give_up, (name, seconds))
        self._timer.daemon = True
        self._timer.start()

    def end(self) -> None:
        """Stop looking."""
        if self._timer is not None:
            self._timer.cancel()
            if self._timer is not threading.current_thread():
                self._timer.join()

    def _give_up(self, phase: str, seconds: float) -> None:
        self.hung = Hung(phase, seconds, {})
        try:
            self.hung = Hung(phase, seconds, self._stacks())
        finally:
            self._stop()


def stacks_of_session(pid: int, root: Path, notes: Path, program: Sequence[str]) -> dict[str, str]:
    """Return the stacks of all servers, workers and scenarios of a session, by process."""
    try:
        first = psutil.Process(pid)
        below = [first, *first.children(recursive=True)]
    except psutil.Error:
        return {}
    for process in below:
        with suppress(psutil.Error):
            if process.cmdline()[: len(program)] == list(program):
                process.send_signal(signal.SIGQUIT)
    found = stacks_of(process.pid for process in below)
    driver = notes / DRIVER_STACKS
    with suppress(WaitTimeoutError):
        wait_until(
            lambda: driver.is_file() and driver.stat().st_size > 0,
            what="the stacks of the scenario",
            timeout_seconds=PRINT_SECONDS,
        )
        found["scenario"] = driver.read_text(errors="replace")
    return {**found, **_stacks_in_containers(root)}


def _stacks_in_containers(root: Path) -> dict[str, str]:
    file = root / CONTAINERS_FILE
    found: dict[str, str] = {}
    for container in file.read_text().split() if file.is_file() else ():
        try:
            command = python("cluster.nodes.stacks", program=PYTHON)
            ended = connect().containers.get(container).exec_run(command, stderr=False)
            printed = msgspec.json.decode(ended.output, type=dict[str, str])
        except (DockerException, PrerequisiteError, OSError, msgspec.DecodeError) as error:
            printed = {"error": f"The container could not be asked for stacks: {error}\n"}
        found.update({f"{container}-{name}": text for name, text in printed.items()})
    return found
