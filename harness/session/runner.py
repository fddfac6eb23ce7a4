"""ducktape's runner, closed to strangers and exact about its tests (docs/decisions/0038).

A scenario's process sends pickled messages to the runner over a socket. ducktape's own runner binds
it to all addresses, and unpickles what arrives. This one binds it to the loopback address, and
unpickles only what is sealed with the key of this session. ducktape's own loader drops all but one
of the tests that have one name; this one refuses them before anything starts.
"""

import hmac
import multiprocessing
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import zmq
from ducktape.command_line import main as command_line
from ducktape.errors import TimeoutError as UnresponsiveError
from ducktape.tests import runner, runner_client
from ducktape.tests.loader import LoaderException, ModuleAndFile, TestLoader
from ducktape.tests.result import PASS, TestResults
from ducktape.tests.serde import SerDe
from ducktape.tests.test_context import TestContext

from cluster.refusal import refuse
from contract.errors import NodeError, UsageError
from contract.events import encodable
from contract.packages import PACKAGES
from harness.session.account import Asked, Failed, report
from harness.session.loading import load

_LOOPBACK = "127.0.0.1"
_SEAL = "sha256"
_SEAL_BYTES = 32
_MESSAGE_BYTES_MAX = 64 << 20
_WAIT_SECONDS = 1800
"""ducktape's own limit for a message, unless the session sets another one."""
_TO_A_STRANGER = b""
_FIRST = 0
"""The index of a test in the name of its run's folder: `Scenario` takes it, whatever its turn."""


class SealedMessages(SerDe):  # type: ignore[misc]
    """Pickles, each behind a seal of its content with the session's key.

    The key is the one that multiprocessing draws in a program and hands on to the processes that it
    starts: it stands in no environment and on no command line.
    """

    def serialize(self, obj: Any) -> bytes:
        """Pickle and seal an object."""
        pickled: bytes = super().serialize(obj)
        return _seal(pickled) + pickled

    def deserialize(self, bytes_obj: bytes, obj_cls: Any = None) -> Any:
        """Unpickle a sealed object.

        Raises:
            NodeError: the seal is not that of this session; nothing of it was unpickled.
        """
        seal, pickled = bytes_obj[:_SEAL_BYTES], bytes_obj[_SEAL_BYTES:]
        if not hmac.compare_digest(seal, _seal(pickled)):
            raise NodeError("a message without the seal of this session was refused")
        return super().deserialize(pickled, obj_cls)


def _seal(content: bytes) -> bytes:
    return hmac.digest(multiprocessing.current_process().authkey, content, _SEAL)


class LocalReceiver(runner.Receiver):  # type: ignore[misc]
    """The runner's socket, which only processes of this machine reach."""

    def start(self) -> None:
        """Bind to a free port of the loopback address."""
        self.socket.setsockopt(zmq.MAXMSGSIZE, _MESSAGE_BYTES_MAX)
        self.port = self.socket.bind_to_random_port(f"tcp://{_LOOPBACK}")

    def recv(self, timeout: int | None = None) -> Any:
        """Return the next message of this session; strangers get an empty answer.

        Args:
            timeout: in milliseconds.

        Raises:
            UnresponsiveError: none came in time, whatever strangers sent.
        """
        seconds = _WAIT_SECONDS if timeout is None else timeout / 1000
        ends = time.monotonic() + seconds
        while (left := ends - time.monotonic()) > 0 and self.socket.poll(left * 1000):
            message = self.socket.recv()
            try:
                return self.serde.deserialize(message)
            except NodeError:
                self.socket.send(_TO_A_STRANGER)
        raise UnresponsiveError("runner client unresponsive")


class LocalRunner(runner.TestRunner):  # type: ignore[misc]
    """Runs tests over such a socket, and reports how they failed."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        """As ducktape's."""
        super().__init__(*arguments, **named)
        self.hostname = _LOOPBACK

    def _run_single_test(self, test_context: TestContext) -> None:
        """Start a test's process, and let the pool know it."""
        super()._run_single_test(test_context)
        self.cluster.scenarios = list(self._client_procs.values())

    def run_all_tests(self) -> TestResults:
        """Run them, and report each that did not pass."""
        results = super().run_all_tests()
        for result in results:
            if result.test_status != PASS:
                report(Failed(test=result.test_id, why=_first_line(result.summary)))
        return results


class PlainClient(runner_client.RunnerClient):  # type: ignore[misc]
    """Runs a test, and describes its error in characters that can be written into files."""

    def _exc_msg(self, e: BaseException) -> str:
        return encodable(super()._exc_msg(e))


class WholeLoader(TestLoader):  # type: ignore[misc]
    """Loads tests, each of which gets a folder of its own, and reports which are asked for."""

    def load(self, symbols: list[str], excluded_test_symbols: Any = None) -> list[TestContext]:
        """Load the tests of some files.

        Raises:
            UsageError: two tests would share a folder, or a file has no test.
        """
        try:
            loaded: list[TestContext] = super().load(symbols, excluded_test_symbols)
            _require_tests_of(symbols, loaded)
        except (LoaderException, UsageError) as error:
            refuse(UsageError(str(error)))
            raise
        for test in loaded:
            report(Asked(test=test.test_id, folder=TestContext.results_dir(test, _FIRST)))
        return loaded

    def _import_module(self, file_path: str) -> ModuleAndFile | None:
        """Import a file that is not ours by its path.

        ducktape tries each module name that the path may mean: `scenarios/baseline_test.py` of a
        user would be ours of that name.
        """
        file = Path(file_path)
        if file.is_relative_to(PACKAGES):
            return super()._import_module(file_path)
        return ModuleAndFile(module=load(file, file.stem), file=file_path)

    def _filter_by_unique_test_id(self, contexts: Iterable[TestContext]) -> list[TestContext]:
        """Refuse tests of one name, of which ducktape would drop all but one."""
        by_folder: dict[Path, TestContext] = {}
        for test in sorted(contexts, key=lambda test: str(test.file)):
            folder = Path(TestContext.results_dir(test, _FIRST))
            other = by_folder.setdefault(folder, test)
            if other is not test:
                both = f"{_name_of(other)} and {_name_of(test)}"
                raise UsageError(
                    f"{both} have one name, and would share a folder: rename a class or a test"
                )
        return list(by_folder.values())


def _require_tests_of(symbols: Iterable[str], loaded: Iterable[TestContext]) -> None:
    asked = {symbol.partition("::")[0] for symbol in symbols}
    without = asked - {test.file for test in loaded if not test.cls.__subclasses__()}
    if without:
        raise UsageError(
            f"no test was found in {', '.join(sorted(without))}: a scenario is a method `test_...` "
            "of a class that no other class extends"
        )


def _name_of(test: TestContext) -> str:
    given = f" {test.injected_args}" if test.injected_args else ""
    return f"{test.cls_name}.{test.function_name}{given} of {test.file}"


def _first_line(summary: Any) -> str:
    return str(summary).strip().partition("\n")[0]


def install() -> None:
    """Let ducktape's program use these classes, in this process and in those that it starts."""
    runner.Receiver = LocalReceiver
    runner_client.RunnerClient = PlainClient
    runner.SerDe = runner_client.SerDe = SealedMessages
    command_line.TestRunner = LocalRunner
    command_line.TestLoader = WholeLoader
