"""The stories of faults on topics, partitions, groups and producers; faults_test.py tells them.

That of an unclean election is a scenario of its own, `unclean_election`.
"""

from collections.abc import Callable
from pathlib import Path

from effects import (
    await_changes,
    changes_of,
    leader_of,
    replica,
    segments,
    topic_ids_on_disk,
)
from msgspec.structs import replace
from stage import GROUPS, OF_BOTH_PROTOCOLS, ORDERS, PLAIN, SCRAP, SECONDS

from contract.clients import Client
from contract.outcomes import Outcome
from contract.waiting import wait_until
from harness.clients.observer_worker import ObserverRole
from harness.faults.delete import DeleteBefore
from harness.faults.expire import EXPIRING_TOPIC, By, Expire
from harness.faults.fence import ExpireTransaction, Fence, TakeOver
from harness.faults.reassign import Reassign
from harness.faults.rebalance import Rebalance
from harness.faults.recreate import Recreate
from harness.story.run import Run
from harness.story.transactions import require
from harness.story.workload import writer

LATE_MS = 2000


def reassign(run: Run) -> None:
    folder = replica(run, PLAIN)
    assert folder.exists()
    with run.fault(Reassign("orders", 0, replicas=[1, 2, 3])):
        wait_until(
            lambda: not folder.exists(), what="the old replica's end", timeout_seconds=SECONDS
        )
        assert segments(replica(run, 3))
    assert segments(folder)


def recreate(run: Run) -> None:
    """Another topic: the producer of the load would write on to the new one."""
    run.observer.create_topics([SCRAP])
    run.produce("scrap", count=5, producer="scrap")
    written = topic_ids_on_disk(run, "scrap")
    run.inject(Recreate("scrap"))
    wait_until(
        lambda: topic_ids_on_disk(run, "scrap").isdisjoint({*written, ""}),
        what="another topic id on each broker's disk",
        timeout_seconds=SECONDS,
    )
    run.observer.await_state(
        "scrap",
        0,
        lambda state: (state.leader, state.leader_epoch, state.log_end_offset) == (2, 0, 0),
        what="to be empty, and led by its first replica",
    )
    run.produce("scrap", count=5, producer="scrap")


def rebalance(client: Client) -> Callable[[Run], None]:
    def story(run: Run) -> None:
        group = next(group for group in GROUPS if group.client == client)
        run.workload.start_reading(run.open([group], incarnation=1))
        await_changes(run, group.group, "assigned", ORDERS.partitions)
        run.inject(Rebalance(group.group))
        await_changes(run, group.group, "assigned", ORDERS.partitions + 1)
        assert changes_of(run, group.group, "revoked")
        run.close(run.workload.stop_reading())

    return story


def begin_burst(run: Run) -> tuple[Path, int]:
    """Fill segments; returns the leader's replica and the start of a segment that all have."""
    run.observer.worker.call(ObserverRole.alter_topic("orders", EXPIRING_TOPIC))
    run.workload.start_producer(writer("burst", "orders", acks="1"), records_per_second=3000)
    folder = replica(run, leader_of(run, "orders"))
    (*_, newest) = segments(folder)
    run.observer.await_state(
        "orders",
        0,
        lambda state: state.log_end_offset >= newest,
        what=f"to have {newest} on all in-sync replicas: records above that are not deleted",
    )
    return folder, newest


def await_gone(folder: Path, newest: int) -> None:
    wait_until(
        lambda: segments(folder)[0] >= newest,
        what=f"the segments below {newest} to be gone",
        timeout_seconds=SECONDS,
    )


def delete_before(run: Run) -> None:
    folder, newest = begin_burst(run)
    run.inject(DeleteBefore("orders", 0, offset=newest))
    await_gone(folder, newest)
    run.workload.stop_producer("burst")


def expire(by: By) -> Callable[[Run], None]:
    def story(run: Run) -> None:
        folder, newest = begin_burst(run)
        with run.fault(Expire(replace(ORDERS, retention_ms=3000), by)):
            await_gone(folder, newest)
        run.workload.stop_producer("burst")
        settings = run.observer.worker.call(ObserverRole.describe_topic("orders")).config
        assert (settings["retention.ms"], settings["retention.bytes"]) == ("-1", "-1")

    return story


def fence(run: Run) -> None:
    begin(run, "fenced")
    run.inject(Fence(["fenced"]))
    assert_refused(run, "fenced")


def take_over(run: Run) -> None:
    begin(run, "taken")
    run.inject(TakeOver(["taken"], by=lambda name: again(run, name)))
    assert_refused(run, "taken")
    require(run.transactions.begin("taken.again"))
    require(run.transactions.send("taken.again", ORDERS, count=1))
    require(run.transactions.commit("taken.again"))


def expire_transaction(run: Run) -> None:
    begin(run, "late", timeout_ms=LATE_MS)
    run.inject(ExpireTransaction(["late"], timeout_ms=LATE_MS))
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
    "reassign": reassign,
    "recreate": recreate,
    **{f"rebalance {client}": rebalance(client) for client in OF_BOTH_PROTOCOLS},
    "fence": fence,
    "take over": take_over,
    "expire transaction": expire_transaction,
    **{f"expire by {by}": expire(by) for by in By},
    "delete records": delete_before,
}
