"""Is every fault on topics, partitions, groups and producers that has no effect recorded so?

Cluster: 4 brokers, 3 of them controllers too; one topic with 4 replicas.
Load:    an acks=1 producer all the time.
Fault:   every verb, with its request not sent; and effects of its kind that have another cause.
Expect:  none has landed, so the run is undecided; every check holds.
"""

from pathlib import Path

import msgspec
from data_stories import begin
from effects import await_changes
from ineffective import (
    Ineffective,
    Story,
    meanwhile,
    segments_not_written,
    short_waits,
    tell,
    unsent,
)
from stage import BROKERS, GROUPS, LOAD, ORDERS, SCRAP

from cluster.kafka.topology import Topology
from contract.checks import Check
from contract.run_folder import GroupPlan, TopicPlan
from harness.clients.admin import JoinedAndLeft, NewTopic
from harness.clients.observer_worker import ObserverRole
from harness.faults.cut_tail import CutTails
from harness.faults.delete import DeleteBefore
from harness.faults.elect import Elect
from harness.faults.expire import By, Expire
from harness.faults.fence import ExpireTransaction, Fence, TakeOver
from harness.faults.reassign import Reassign
from harness.faults.rebalance import Rebalance
from harness.faults.recreate import Recreate
from harness.story.run import Run
from harness.story.scenario import Scenario
from harness.story.workload import writer

GROUP: GroupPlan = GROUPS[0]
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


def elect(*, unclean: bool) -> Story:
    return lambda _run: Ineffective(Elect("orders", 0, unclean=unclean), unsent(ObserverRole.elect))


def elect_while_the_leader_dies(run: Run) -> Ineffective:
    """Its successor leads under a newer epoch."""
    fault = Ineffective(
        Elect("orders", 0, unclean=False),
        unsent(ObserverRole.elect),
        meanwhile(lambda: run.kafka.kill_server(1)),
    )
    fault.after(lambda: run.kafka.start_server(1))
    return fault


def recreate(run: Run) -> Ineffective:
    run.observer.create_topics([SCRAP])
    run.produce("scrap", count=1, producer="scrap")
    run.produce("scrap", count=TAIL, producer="scrap")
    return Ineffective(Recreate("scrap"), unsent(ObserverRole.delete_topic))


def cut_tails(_run: Run) -> Ineffective:
    return Ineffective(CutTails("scrap", 0, records=TAIL), segments_not_written)


def rebalance(run: Run) -> Ineffective:
    """The coordinator knows no extra member."""
    members = run.open([GROUP], incarnation=1)
    run.workload.start_reading(members)
    await_changes(run, GROUP.group, "assigned", ORDERS.partitions)

    def nobody() -> JoinedAndLeft:
        view = run.observer.worker.call(ObserverRole.describe_group(GROUP.group))
        assert view is not None
        return JoinedAndLeft(generation=1, before=view, meanwhile=view, after=view)

    fault = Ineffective(Rebalance(GROUP.group), unsent(ObserverRole.join_and_leave, instead=nobody))
    fault.after(lambda: run.close(run.workload.stop_reading()))
    return fault


def fence(run: Run) -> Ineffective:
    """The coordinator aborts by itself what is open for too long."""
    begin(run, "fenced", timeout_ms=SHORT_MS)
    return Ineffective(Fence(["fenced"]), unsent(ObserverRole.fence_producers))


def take_over(run: Run) -> Ineffective:
    begin(run, "taken", timeout_ms=SHORT_MS)
    return Ineffective(TakeOver(["taken"], by=lambda _name: None))


def expire_transaction(run: Run) -> Ineffective:
    """The timeout is longer than the fault says."""
    begin(run, "late")
    return Ineffective(ExpireTransaction(["late"], timeout_ms=SHORT_MS), short_waits)


def expire_a_transaction_that_is_fenced(run: Run) -> Ineffective:
    begin(run, "both")
    return Ineffective(
        ExpireTransaction(["both"], timeout_ms=SHORT_MS),
        meanwhile(lambda: run.observer.fence_producers(["both"])),
    )


def reassign(_run: Run) -> Ineffective:
    return Ineffective(Reassign("orders", 0, replicas=[1, 2, 3]), unsent(ObserverRole.reassign))


def reassign_to_the_same(_run: Run) -> Ineffective:
    return Ineffective(Reassign("orders", 0, replicas=BROKERS))


def expire(by: By) -> Story:
    plan = msgspec.structs.replace(ORDERS, retention_ms=3000)
    return lambda _run: Ineffective(
        Expire(plan, by), unsent(ObserverRole.alter_topic, ObserverRole.delete_records)
    )


def expire_what_is_empty(run: Run) -> Ineffective:
    topic = NewTopic(topic=EMPTY.topic, assignment=[BROKERS], config={})
    run.observer.create_topics([topic])
    return Ineffective(Expire(EMPTY, By.TIME))


def delete_before(_run: Run) -> Ineffective:
    return Ineffective(DeleteBefore("orders", 0, offset=TAIL), unsent(ObserverRole.delete_records))


def delete_what_is_gone(_run: Run) -> Ineffective:
    return Ineffective(DeleteBefore("orders", 0, offset=0))


STORIES: dict[str, Story] = {
    "elect": elect(unclean=False),
    "elect unclean": elect(unclean=True),
    "elect while the leader dies": elect_while_the_leader_dies,
    "reassign": reassign,
    "reassign to the same": reassign_to_the_same,
    "recreate": recreate,
    "rebalance": rebalance,
    "fence": fence,
    "take over": take_over,
    "expire transaction": expire_transaction,
    "expire a transaction that is fenced": expire_a_transaction_that_is_fenced,
    **{f"expire by {by}": expire(by) for by in By},
    "expire what is empty": expire_what_is_empty,
    "delete records": delete_before,
    "delete records that are gone": delete_what_is_gone,
    "cut tails": cut_tails,
}


class IneffectiveDataScenario(Scenario):
    """Each fault has no effect."""

    topology = Topology(
        brokers=4,
        combined=(1, 2, 3),
        settings={"transaction.abort.timed.out.transaction.cleanup.interval.ms": "200"},
    )
    must_judge = (Check.HISTORY_COMPLETE,)

    def test_ineffective_data(self) -> None:
        with self.running(topics=[ORDERS], groups=[GROUP]) as run:
            run.create(assignment=BROKERS, is_spread=True)
            run.start_load(
                ORDERS, (), records_per_second=500, producers=[writer(LOAD, "orders", acks="1")]
            )
            tell(run, STORIES, Path(self.session.results, "seen.json"))
