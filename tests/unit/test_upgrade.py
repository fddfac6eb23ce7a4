"""When an upgrade has landed, and how a step is repeated meanwhile."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from contract.software import ClassPath
from harness.faults import Broker, Upgrade
from scenarios.offset_commits import Repeated


class Servers:
    """Brokers whose processes end by themselves; `newest` is of the Kafka that runs."""

    def __init__(self) -> None:
        self.running = {1: "1.0.0", 2: "1.0.0"}
        self.installed = dict(self.running)
        self.pids = {1: 1, 2: 2}
        self.topology = SimpleNamespace(broker_ids=[1, 2])

    def classes(self, broker: int) -> ClassPath:
        return ClassPath(locked=self.installed[broker])

    def install(self, broker: int, classes: ClassPath) -> None:
        self.installed[broker] = classes.locked

    def process(self, broker: int) -> Any:
        return SimpleNamespace(pid=self.pids[broker], status=lambda: 0)

    def is_running(self, _broker: int) -> bool:
        return True

    def stop_server(self, _broker: int) -> None: ...

    def start_server(self, broker: int) -> None:
        self.running[broker], self.pids[broker] = self.installed[broker], self.pids[broker] + 10

    def answering_brokers(self) -> list[int]:
        return [1, 2]


@pytest.mark.parametrize(("newer", "has_landed"), [(6, True), (5, False)])
def test_an_upgrade_has_landed_when_the_broker_supports_a_newer_version(
    newer: int, *, has_landed: bool
) -> None:
    servers = Servers()
    newest = {"1.0.0": 5, "2.0.0": newer}
    field: Any = SimpleNamespace(
        kafka=servers, observer=SimpleNamespace(kafka=servers, await_unfenced=lambda _broker: None)
    )
    upgrade = Upgrade(
        Broker(1),
        to=ClassPath(locked="2.0.0"),
        api="API",
        newest=lambda broker: newest[servers.running[broker]],
    )
    upgrade.prepare(field)
    upgrade.inject(field)
    evidence = upgrade.prove(field)
    assert evidence.landed is has_landed
    assert evidence.facts["kafka"] == ["1.0.0", "2.0.0"]
    assert evidence.facts["newest_version"] == [5, newer]
    assert evidence.facts["newest_versions_now"] == {"1": newer, "2": 5}


class Waiting:
    """Asks again at once."""

    def await_that(self, probe: Any, **_options: Any) -> None:
        while not probe():
            pass


def test_a_step_is_repeated_until_the_block_ends() -> None:
    done: list[int] = []
    waiting = cast("Any", Waiting())
    with Repeated(lambda: done.append(1), observer=waiting, what="step") as repeated:
        repeated.await_more(3)
    assert repeated.rounds == len(done) >= 3


def test_an_error_of_the_step_is_raised_in_the_block() -> None:
    def fail() -> None:
        raise ValueError("step")

    waiting = cast("Any", Waiting())
    with (
        pytest.raises(ValueError, match="step"),
        Repeated(fail, observer=waiting, what="step") as repeated,
    ):
        repeated.await_more(1)
