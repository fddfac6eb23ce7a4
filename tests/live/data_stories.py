"""The stories of faults on topics, partitions, groups and producers, with an effect and in vain.

faults_test.py tells the first kind, ineffective_test.py the second. The effect
of an unclean election is a scenario of its own, `unclean_election`.
"""

from collections.abc import Callable
from itertools import count
from pathlib import Path

from effects import await_changes, changes_of, leader_of, replica, segments, topic_ids_on_disk
from ineffective import (
    Ineffective,
    Story,
    leave_unsent,
    meanwhile,
    segments_not_written,
    short_waits,
)
from msgspec.structs import replace
from stage import BROKERS, GROUP, GROUPS, OF_BOTH_PROTOCOLS, ORDERS, PLAIN, SCRAP, SECONDS

from contract.run_folder import TopicPlan
from contract.software import Client
from contract.terms import Outcome
from contract.waiting import wait_until
from harness.clients.admin import JoinedAndLeft, NewTopic
from harness.clients.observer_worker import ObserverRole
from harness.faults import (
    By,
    CutTails,
    DeleteBefore,
    Elect,
    Expire,
    ExpireTransaction,
    Fence,
    Reassign,
    Rebalance,
    Recreate,
    TakeOver,
)
from harness.faults.expire import EXPIRING_TOPIC
from harness.story.run import Run
from harness.story.transactions import require
from harness.story.workload import writer

LATE_MS = 2000
SHORT_MS = 1500
TAIL = 5
EMPTY = TopicPlan(
    topic="empty",
    partitions=1,
    replication=4,
    min_insync=2,
    unclean_election=False,
    retention_ms=3000,
)


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


_BURSTS = count()
"""Numbers of producers: each has a name of its own."""


def begin_burst(run: Run) -> tuple[str, Path, int]:
    """Fill segments.

    Returns:
        The producer, the leader's replica, and the start of a segment that all replicas have.
    """
    run.observer.worker.call(ObserverRole.alter_topic("orders", EXPIRING_TOPIC))
    burst = f"burst-{next(_BURSTS)}"
    run.workload.start_producer(writer(burst, "orders", acks="1"), records_per_second=3000)
    folder = replica(run, leader_of(run, "orders"))
    (*_, newest) = segments(folder)
    run.observer.await_state(
        "orders",
        0,
        lambda state: state.log_end_offset >= newest,
        what=f"to have {newest} on all in-sync replicas: records above that are not deleted",
    )
    return burst, folder, newest


def await_gone(folder: Path, newest: int) -> None:
    wait_until(
        lambda: segments(folder)[0] >= newest,
        what=f"the segments below {newest} to be gone",
        timeout_seconds=SECONDS,
    )


def delete_before(run: Run) -> None:
    burst, folder, newest = begin_burst(run)
    run.inject(DeleteBefore("orders", 0, offset=newest))
    await_gone(folder, newest)
    run.workload.stop_producer(burst)


def expire(by: By) -> Callable[[Run], None]:
    def story(run: Run) -> None:
        burst, folder, newest = begin_burst(run)
        with run.fault(Expire(replace(ORDERS, retention_ms=3000), by)):
            await_gone(folder, newest)
        run.workload.stop_producer(burst)
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


# The same verbs in vain.


def elect(*, unclean: bool) -> Story:
    return lambda _run: Ineffective(
        Elect("orders", 0, unclean=unclean), leave_unsent(ObserverRole.elect), sees_nothing=True
    )


def elect_while_the_leader_dies(run: Run) -> Ineffective:
    """Its successor leads under a newer epoch."""
    fault = Ineffective(
        Elect("orders", 0, unclean=False),
        leave_unsent(ObserverRole.elect),
        meanwhile(lambda: run.kafka.kill_server(1)),
    )
    fault.after(lambda: run.kafka.start_server(1))
    return fault


def recreate_in_vain(run: Run) -> Ineffective:
    make_scrap(run)
    return Ineffective(
        Recreate("scrap"), leave_unsent(ObserverRole.delete_topic), sees_nothing=True
    )


def make_scrap(run: Run) -> None:
    if SCRAP.topic not in run.observer.topics():
        run.observer.create_topics([SCRAP])
        run.produce("scrap", count=1, producer="scrap")
        run.produce("scrap", count=TAIL, producer="scrap")


def cut_tails(run: Run) -> Ineffective:
    make_scrap(run)
    return Ineffective(CutTails("scrap", 0, records=TAIL), segments_not_written)


def rebalance_in_vain(run: Run) -> Ineffective:
    """The coordinator knows no extra member."""
    members = run.open([GROUP], incarnation=2)
    run.workload.start_reading(members)
    await_changes(run, GROUP.group, "assigned", ORDERS.partitions)

    def nobody() -> JoinedAndLeft:
        view = run.observer.worker.call(ObserverRole.describe_group(GROUP.group))
        assert view is not None
        return JoinedAndLeft(generation=1, before=view, meanwhile=view, after=view)

    fault = Ineffective(
        Rebalance(GROUP.group), leave_unsent(ObserverRole.join_and_leave, instead=nobody)
    )
    fault.after(lambda: run.close(run.workload.stop_reading()))
    return fault


def fence_in_vain(run: Run) -> Ineffective:
    """The coordinator aborts by itself what is open for too long."""
    begin(run, "fenced", timeout_ms=SHORT_MS)
    return Ineffective(Fence(["fenced"]), leave_unsent(ObserverRole.fence_producers))


def take_over_in_vain(run: Run) -> Ineffective:
    begin(run, "taken", timeout_ms=SHORT_MS)
    return Ineffective(TakeOver(["taken"], by=lambda _name: None))


def expire_transaction_in_vain(run: Run) -> Ineffective:
    """The timeout is longer than the fault says."""
    begin(run, "late")
    return Ineffective(
        ExpireTransaction(["late"], timeout_ms=SHORT_MS), short_waits, sees_nothing=True
    )


def expire_a_transaction_that_is_fenced(run: Run) -> Ineffective:
    begin(run, "both")
    return Ineffective(
        ExpireTransaction(["both"], timeout_ms=SHORT_MS),
        meanwhile(lambda: run.observer.fence_producers(["both"])),
    )


def reassign_in_vain(_run: Run) -> Ineffective:
    return Ineffective(
        Reassign("orders", 0, replicas=[1, 2, 3]),
        leave_unsent(ObserverRole.reassign),
        sees_nothing=True,
    )


def reassign_to_the_same(_run: Run) -> Ineffective:
    return Ineffective(Reassign("orders", 0, replicas=BROKERS))


def expire_in_vain(by: By) -> Story:
    plan = replace(ORDERS, retention_ms=3000)
    return lambda _run: Ineffective(
        Expire(plan, by),
        leave_unsent(ObserverRole.alter_topic, ObserverRole.delete_records),
        sees_nothing=True,
    )


def expire_what_is_empty(run: Run) -> Ineffective:
    topic = NewTopic(topic=EMPTY.topic, assignment=[BROKERS], config={})
    run.observer.create_topics([topic])
    return Ineffective(Expire(EMPTY, By.TIME))


def delete_before_in_vain(_run: Run) -> Ineffective:
    return Ineffective(
        DeleteBefore("orders", 0, offset=TAIL),
        leave_unsent(ObserverRole.delete_records),
        sees_nothing=True,
    )


def delete_what_is_gone(_run: Run) -> Ineffective:
    return Ineffective(DeleteBefore("orders", 0, offset=0))


IN_VAIN: dict[str, Story] = {
    "elect": elect(unclean=False),
    "elect unclean": elect(unclean=True),
    "elect while the leader dies": elect_while_the_leader_dies,
    "reassign": reassign_in_vain,
    "reassign to the same": reassign_to_the_same,
    "recreate": recreate_in_vain,
    "rebalance": rebalance_in_vain,
    "fence": fence_in_vain,
    "take over": take_over_in_vain,
    "expire transaction": expire_transaction_in_vain,
    "expire a transaction that is fenced": expire_a_transaction_that_is_fenced,
    **{f"expire by {by}": expire_in_vain(by) for by in By},
    "expire what is empty": expire_what_is_empty,
    "delete records": delete_before_in_vain,
    "delete records that are gone": delete_what_is_gone,
    "cut tails": cut_tails,
}
