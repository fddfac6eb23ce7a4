"""Does each fault do what its name says, and does its heal undo that?

Cluster: 4 brokers, 3 of them controllers too; one topic of 4 partitions with 4 replicas.
Load:    an acks=1 producer all the time.
Fault:   every verb, one after the other; each effect is measured by other means than the fault's
         own evidence (tests/live/effects.py). `test_faults.py` tells what came of each.
Expect:  all that the asserts say, and after each fault a whole ISR again.
"""

import json
import signal
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import TypedDict

from ducktape.mark.resource import cluster
from effects import (
    answers,
    await_answer,
    await_led_by_other,
    bytes_in,
    hears,
    is_stopped,
    leader_of,
    newest_epoch_on_disk,
    reaches,
    replica,
    segments,
)

from cluster.kafka.topology import (
    CLIENT_PORT,
    CONTROLLER_PORT,
    REPLICATION_PORT,
    Topology,
)
from cluster.nodes.node import Capability
from harness.clients.observer_commands import AlterTopic
from harness.contract.outcomes import Outcome
from harness.contract.run_folder import TopicPlan
from harness.contract.waiting import wait_until
from harness.faults.bounce import Bounce
from harness.faults.cut import Cut, Links
from harness.faults.elect import Elect
from harness.faults.expire import EXPIRING_TOPIC, By, Expire
from harness.faults.fence import ExpireTransaction, Fence, TakeOver
from harness.faults.kill import Kill
from harness.faults.pause import Pause
from harness.faults.reassign import Reassign
from harness.faults.stop import Stop
from harness.faults.targets import ActiveController, Broker, LeaderOf
from harness.faults.wipe import Wipe
from harness.run import Run
from harness.scenario import Scenario
from harness.transactions import require

BROKERS = [1, 2, 3, 4]
PLAIN = 4
ORDERS = TopicPlan(
    topic="orders",
    partitions=4,
    replication=4,
    min_insync=2,
    unclean_election=False,
    deletes=True,
)
FIRST = LeaderOf("orders", 0)
LOAD = "load"
SECONDS = 30
SIGTERM_STATUS = 143


def pause(run: Run) -> None:
    fault = Pause(FIRST)
    with run.fault(fault):
        assert is_stopped(run, fault.broker)
        assert not answers(run, fault.broker)
        await_led_by_other(run, fault.broker)
    assert not is_stopped(run, fault.broker)
    await_answer(run, fault.broker)


def elect(run: Run) -> None:
    """The fault before has moved the leadership to another broker than the preferred one."""
    assert leader_of(run, "orders") != 1
    run.strike(Elect("orders", 0, unclean=False))
    state = run.observer.await_state(
        "orders", 0, lambda state: state.leader == 1, what="to be led by broker 1"
    )
    wait_until(
        lambda: newest_epoch_on_disk(run, 1) == state.leader_epoch,
        what="the epoch on the leader's disk",
        timeout_seconds=SECONDS,
    )


def kill(run: Run) -> None:
    fault = Kill(ActiveController())
    before = run.observer.active_controller()
    process = run.kafka.process(before)
    led = run.preferred_of(before, ORDERS)[0]
    with run.fault(fault):
        assert process.status() == -signal.SIGKILL
        assert not (run.kafka.data(before) / ".kafka_cleanshutdown").exists()
        assert not answers(run, before)
        assert run.observer.active_controller() != before
        await_led_by_other(run, before, partition=led)
    await_answer(run, before)


def stop(run: Run) -> None:
    fault = Stop(FIRST)
    process = run.kafka.process(leader_of(run, "orders"))
    with run.fault(fault):
        assert process.status() in (0, SIGTERM_STATUS)
        assert (run.kafka.data(fault.broker) / ".kafka_cleanshutdown").exists()
        assert not answers(run, fault.broker)
        await_led_by_other(run, fault.broker)
    await_answer(run, fault.broker)


def bounce(run: Run) -> None:
    broker = leader_of(run, "orders")
    process, folder = run.kafka.process(broker), replica(run, broker)
    inode = folder.stat().st_ino
    run.strike(Bounce(FIRST))
    assert process.status() in (0, SIGTERM_STATUS)
    assert run.kafka.process(broker).pid != process.pid
    assert answers(run, broker)
    assert folder.stat().st_ino == inode


def wipe(run: Run) -> None:
    data = run.kafka.data(PLAIN)
    before = bytes_in(data)
    with run.fault(Wipe(Broker(PLAIN))):
        assert before > 0
        assert not data.exists()
    run.settle()
    assert bytes_in(data) >= before


def cut(run: Run) -> None:
    struck, other, client = run.kafka.host(PLAIN), run.kafka.host(1), run.clients.host
    with run.fault(Cut(Broker(PLAIN), Links.BOTH)):
        assert not reaches(struck, other)
        assert not reaches(other, struck)
        assert not hears(struck, other)
        assert not hears(other, struck)
        assert reaches(client, struck)
        await_led_by_other(run, PLAIN, partition=PLAIN - 1)
    assert reaches(struck, other)
    assert hears(other, struck)


def cut_in(run: Run) -> None:
    struck, other = run.kafka.host(PLAIN), run.kafka.host(1)
    with run.fault(Cut(Broker(PLAIN), Links.IN)):
        assert not hears(struck, other)
        assert hears(other, struck)
        assert reaches(run.clients.host, struck)
    assert hears(struck, other)


def cut_out(run: Run) -> None:
    struck, other = run.kafka.host(PLAIN), run.kafka.host(1)
    with run.fault(Cut(Broker(PLAIN), Links.OUT)):
        assert hears(struck, other)
        assert not hears(other, struck)
        assert reaches(run.clients.host, struck)
    assert hears(other, struck)


def cut_controllers(run: Run) -> None:
    struck, other = run.kafka.host(PLAIN), run.kafka.host(1)
    with run.fault(Cut(Broker(PLAIN), Links.CONTROLLERS)):
        assert not reaches(struck, other, CONTROLLER_PORT)
        assert reaches(struck, other, REPLICATION_PORT)
        assert reaches(run.clients.host, struck)
        assert PLAIN not in run.observer.brokers_seen_by(1)
        assert answers(run, PLAIN)
    assert reaches(struck, other, CONTROLLER_PORT)


def cut_replication(run: Run) -> None:
    struck, other = run.kafka.host(PLAIN), run.kafka.host(1)
    with run.fault(Cut(Broker(PLAIN), Links.REPLICATION)):
        assert not reaches(struck, other, REPLICATION_PORT)
        assert reaches(struck, other, CONTROLLER_PORT)
        run.await_out_of_isr("orders", 0, PLAIN)
        assert PLAIN in run.observer.brokers_seen_by(1)
    run.await_isr("orders", 0, BROKERS)


def cut_clients(run: Run) -> None:
    load = run.workload
    with run.fault(Cut(FIRST, Links.CLIENTS)):
        leader = leader_of(run, "orders")
        others = [p for p in range(4) if leader_of(run, "orders", p) != leader]
        load.await_acknowledged(LOAD, 100, partitions=others)
        before = load.acknowledged(LOAD, [0])
        load.await_acknowledged(LOAD, 100, partitions=others)
        assert load.acknowledged(LOAD, [0]) == before
        assert not reaches(run.clients.host, run.kafka.host(leader), CLIENT_PORT)
        assert answers(run, leader)
        run.await_isr("orders", 0, BROKERS)
    load.await_acknowledged(LOAD, 10, partitions=[0])


def reassign(run: Run) -> None:
    folder = replica(run, PLAIN)
    assert folder.exists()
    with run.fault(Reassign("orders", 0, replicas=[1, 2, 3])):
        wait_until(
            lambda: not folder.exists(), what="the old replica's end", timeout_seconds=SECONDS
        )
        assert segments(replica(run, 3))
    assert segments(folder)


def expire(by: By) -> Callable[[Run], None]:
    def story(run: Run) -> None:
        run.observer.worker.call(AlterTopic(topic="orders", config=EXPIRING_TOPIC))
        folder = replica(run, leader_of(run, "orders"))
        (*_, newest) = segments(folder)
        with run.fault(Expire(ORDERS, by)):
            wait_until(
                lambda: segments(folder)[0] >= newest,
                what=f"the segments below {newest} to be gone",
                timeout_seconds=SECONDS,
            )
        kept = segments(folder)[0]
        run.workload.await_acknowledged(LOAD, 100)
        assert segments(folder)[0] == kept or by is By.ORDER

    return story


def fence(run: Run) -> None:
    begin(run, "fenced")
    run.strike(Fence(["fenced"]))
    assert_refused(run, "fenced")


def take_over(run: Run) -> None:
    begin(run, "taken")
    run.strike(TakeOver(["taken"], by=lambda name: again(run, name)))
    assert_refused(run, "taken")
    require(run.transactions.begin("taken.again"))
    require(run.transactions.send("taken.again", ORDERS, count=1))
    require(run.transactions.commit("taken.again"))


def expire_transaction(run: Run) -> None:
    begin(run, "late", timeout_ms=2000)
    run.strike(ExpireTransaction(["late"]))
    assert_refused(run, "late")


def begin(run: Run, name: str, *, timeout_ms: int = 60_000) -> None:
    """Leave a transaction open."""
    transactions = run.transactions
    require(transactions.open(name, transactional_id=name, timeout_ms=timeout_ms))
    require(transactions.begin(name), transactions.send(name, ORDERS, count=5))


def again(run: Run, name: str) -> None:
    require(run.transactions.open(f"{name}.again", transactional_id=name))


def assert_refused(run: Run, name: str) -> None:
    sent = run.transactions.send(name, ORDERS, count=5)
    assert sent[Outcome.FAILED] == 5 * ORDERS.partitions
    assert run.transactions.commit(name).outcome is Outcome.FAILED


STORIES: dict[str, Callable[[Run], None]] = {
    "pause": pause,
    "elect": elect,
    "kill": kill,
    "stop": stop,
    "bounce": bounce,
    "wipe": wipe,
    "cut": cut,
    "cut in": cut_in,
    "cut out": cut_out,
    "cut controllers": cut_controllers,
    "cut replication": cut_replication,
    "cut clients": cut_clients,
    "reassign": reassign,
    "fence": fence,
    "take over": take_over,
    "expire transaction": expire_transaction,
    **{f"expire by {by}": expire(by) for by in By},
}
SKIPPED = "this pool has no network of its own"
TOLD_FILE = "told.json"


class Told(TypedDict):
    """What came of a story: None where all was as it asserts."""

    problem: str | None
    seconds: float


class FaultsScenario(Scenario):
    """Each fault has its story."""

    topology = Topology(
        brokers=4,
        combined=(1, 2, 3),
        settings={"transaction.abort.timed.out.transaction.cleanup.interval.ms": "500"},
    )
    checks = ()

    @cluster(num_nodes=6)
    def test_faults(self) -> None:
        told: dict[str, Told] = {}
        with self.running(topics=[ORDERS]) as run:
            run.create(assignment=BROKERS, is_spread=True)
            run.start_load(ORDERS, producers={LOAD: "1"}, records_per_second=1000, readers=())
            for name, story in STORIES.items():
                began = time.monotonic()
                problem = self.tell(run, name, story)
                told[name] = {"problem": problem, "seconds": time.monotonic() - began}
                Path(self.session.results, TOLD_FILE).write_text(json.dumps(told))

    def tell(self, run: Run, name: str, story: Callable[[Run], None]) -> str | None:
        """None if all was as the story asserts, else what was not."""
        if name.startswith("cut") and Capability.CUT not in run.kafka.host(1).capabilities:
            return SKIPPED
        try:
            story(run)
        except Exception:  # noqa: BLE001 - the other stories are told all the same
            problem = traceback.format_exc()
        else:
            problem = None
        run.settle()
        return problem
