"""Faults whose means were made ineffective: the fault's own code runs, and nothing comes of it."""

import json
import traceback
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import Any, TypeVar
from unittest.mock import patch

from stage import stories_to_run

from cluster.kafka import service
from cluster.nodes import firewall
from cluster.nodes.host import HostProcess
from cluster.nodes.local import LocalNode, NetnsNode
from contract.errors import WaitTimeoutError
from contract.waiting import wait_until
from harness.clients import observer
from harness.clients.command import Call
from harness.clients.process import WorkerService
from harness.faults import Fault, broker_fault, fill
from harness.faults.fault import Evidence, Field
from harness.story.run import Run

T = TypeVar("T")

SECONDS = 5
"""What has no effect has none later either, so no wait for an effect takes longer. A broker that
was killed for another reason is fenced within `broker.session.timeout.ms`, 3 s."""

ACCEPT = 1
"""The kernel's NF_ACCEPT."""

Means = Callable[[], AbstractContextManager[object]]


class Ineffective(Fault):
    """Another fault, whose means are ineffective from its injection until its heal.

    Without means, the fault is whole: what it acts on leaves it without an effect.

    Attributes:
        sees_nothing: it has to wait in vain; any other one has to see that there is no effect of
            its own.
    """

    def __init__(self, fault: Fault, *means: Means, sees_nothing: bool = False) -> None:
        self.fault, self._means, self.sees_nothing = fault, means, sees_nothing
        self.verb, self.target = fault.verb, fault.target
        self._ineffective = ExitStack()

    def after(self, undo: Callable[[], object]) -> None:
        """Undo something right before the heal."""
        self._ineffective.callback(undo)

    def prepare(self, field: Field) -> None:
        self.fault.prepare(field)
        self.target = self.fault.target

    def inject(self, field: Field) -> None:
        for means in (short_waits, *self._means) if self._means else ():
            self._ineffective.enter_context(means())
        self.fault.inject(field)

    def prove(self, field: Field) -> Evidence:
        return self.fault.prove(field)

    def heal(self, field: Field) -> None:
        self._ineffective.close()
        self.fault.heal(field)


@contextmanager
def short_waits() -> Iterator[None]:
    def briefly(probe: Callable[[], T | None], *, timeout_seconds: float, **options: Any) -> T:
        return wait_until(probe, timeout_seconds=min(timeout_seconds, SECONDS), **options)

    with ExitStack() as stack:
        stack.enter_context(patch.object(observer, "wait_until", briefly))
        stack.enter_context(patch.object(broker_fault, "_ENDED_SECONDS", SECONDS))
        stack.enter_context(patch.object(fill, "_ENDED_SECONDS", SECONDS))
        stack.enter_context(patch.object(service, "_STOP_SECONDS", SECONDS))
        yield


@contextmanager
def signals_swallowed() -> Iterator[None]:
    """No process on a local node gets a signal."""
    with patch.object(HostProcess, "signal", lambda _process, _number: None):
        yield


@contextmanager
def first_signal_swallowed() -> Iterator[None]:
    """The fault's own signal is lost, and no later one: what ends the process then is no proof."""
    send, sent = HostProcess.signal, []

    def swallow_first(process: HostProcess, number: int) -> None:
        if sent:
            send(process, number)
        sent.append(number)

    with patch.object(HostProcess, "signal", swallow_first):
        yield


@contextmanager
def rules_not_applied() -> Iterator[None]:
    """`Node.block` returns, and the kernel has no rule."""
    with patch.object(NetnsNode, "block", lambda _node, _traffic: None):
        yield


@contextmanager
def rules_that_only_count() -> Iterator[None]:
    """Each rule is there, matches and counts, and accepts what it should drop."""
    with patch.object(firewall, "_DROP", ACCEPT):
        yield


def disk_not_limited() -> AbstractContextManager[object]:
    """The limit of a broker's files is set to none."""
    return patch.object(fill, "_LIMIT", "pass")


def not_removed(data: Path) -> Means:
    """Removing one folder does nothing; it goes at the heal, for the broker to start anew."""

    @contextmanager
    def means() -> Iterator[None]:
        remove = LocalNode.remove

        def remove_others(node: LocalNode, path: Path) -> None:
            if path != data:
                remove(node, path)

        removed_from: list[LocalNode] = []

        def note(node: LocalNode, path: Path) -> None:
            removed_from.append(node)
            remove_others(node, path)

        with patch.object(LocalNode, "remove", note):
            yield
        remove(removed_from[0], data)

    return means


def segments_not_written() -> AbstractContextManager[object]:
    """A segment that is written to a broker's log directory does not arrive."""
    write = LocalNode.write_all

    def write_others(node: LocalNode, files: dict[Path, bytes]) -> None:
        write(node, {path: files[path] for path in files if "data" not in path.parts})

    return patch.object(LocalNode, "write_all", write_others)


def leave_unsent(
    *commands: Callable[..., Call[Any]], instead: Callable[[], Any] = lambda: None
) -> Means:
    """These commands of roles are not sent to their worker; their result is that of `instead`."""
    declared: list[Any] = [command.__self__ for command in commands]

    @contextmanager
    def means() -> Iterator[None]:
        call = WorkerService.call

        def call_others(worker: WorkerService, asked: Call[Any], **options: Any) -> Any:
            if asked.command in declared:
                return instead()
            return call(worker, asked, **options)

        with patch.object(WorkerService, "call", call_others):
            yield

    return means


def meanwhile(act: Callable[[], object]) -> Means:
    """Something else happens, right before the fault would be injected."""

    @contextmanager
    def means() -> Iterator[None]:
        act()
        yield

    return means


Story = Callable[[Run], Ineffective]
"""Prepares a cluster for a fault, and returns the fault, ineffective."""


def tell(run: Run, stories: dict[str, Story], reported: Path) -> None:
    """Inject each fault and heal it; a file says of each story what failed but its evidence."""
    problems: dict[str, str | None] = {}
    for name, story in stories_to_run(stories).items():
        problems[name], fault = None, None
        try:
            fault = story(run)
            run.inject(fault)
        except WaitTimeoutError:
            if fault is None or not fault.sees_nothing:
                problems[name] = traceback.format_exc()
        except Exception:  # noqa: BLE001 - the other stories are told all the same
            problems[name] = traceback.format_exc()
        else:
            if fault.sees_nothing:
                problems[name] = "it did not wait in vain, as the story declares"
        reported.write_text(json.dumps(problems))
        run.settle()
