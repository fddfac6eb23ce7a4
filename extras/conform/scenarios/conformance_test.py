"""Does each client keep its place when the log under it, its leader or its group changes?

Cluster: 3 brokers; one topic with replicas on brokers 1 and 2.
Load:    groups of many clients beside each other, each with a way to commit and a reset policy
         (`readers`). They read, commit and are closed, and are opened again. Those that meet the
         hazard as `restart` are closed again before it, and opened after it; `live` ones stay open.
Fault:   one of these, the same for all:
         leader_change     the other replica is elected, and is in sync.
         truncation_above  100 records that only the leader has are read and committed, and lost by
                           an unclean election. 250 new ones follow: the log ends above 200.
         truncation_below  the same with 50 new records: the log ends at 150, below 200.
         expired           100 is committed, 100 records follow, and those before 110 are deleted.
         epoch_expired     100 is committed, and all before it is deleted, with its leader epoch;
                           another leader is elected, and 50 records follow.
         recreated         100 is committed; the topic is created again, and 150 records follow.
         rebalance         of 4 partitions; a second member joins the group, and leaves.
         leaderless        both replicas are killed while members poll, and return.
         two_elections     as truncation_above; then the other replica is elected, unclean too, and
                           50 further records follow.
         paused            the member's process is suspended until its group has no member, while
                           100 records are written, and goes on.
         other_client      100 records are written, and another leader is elected. 100 is committed
                           again, under the new epoch, by Admin, as a client does that commits its
                           metadata's epoch. A member reads the records, commits and is closed, and
                           another one is opened.
         At the end each group reads to the log end; a member whose poll failed polls on.
Expect:  the cells say what comes (docs/conformance.md). The group `java` has to keep its place,
         or no other cell of the story counts.
Source:  KIP-320, KIP-516, KIP-429, KIP-62; docs/guests.md; runs and
         predictions: docs/conformance.md.
"""

from collections.abc import Callable

from ducktape.mark import matrix
from msgspec.structs import replace

from cluster.kafka.topology import Topology
from cluster.refusal import refuse
from contract.errors import UsageError
from contract.run_folder import Consequence, Expectation, GroupPlan, TopicPlan
from contract.software import Client, Level, client_of
from contract.terms import Check, Stage
from extras.conform.vocabulary import COMMITS, CONTROL, MEETS, RESTART, Hazard, Reader, readers_of
from harness.faults import (
    Broker,
    DeleteBefore,
    Elect,
    FollowerOf,
    HeldFault,
    Kill,
    LeaderOf,
    PauseClient,
    Reassign,
    Recreate,
)
from harness.story.company import Company
from harness.story.run import Run
from harness.story.scenario import Scenario
from harness.story.workload import reader

CLIENTS = (
    CONTROL,
    "java-consumer",
    "librdkafka",
    "kafka-python",
    "kafka-python@3.0.5",
    "kafka-python@3.0.8",
)
"""Installed clients, and releases that are known to fail."""
WORKERS_MAX = 24
FIRST, LOST, FOLLOWING, NEW = 100, 100, 50, 250
UNREAD, DELETED_ABOVE, RECREATED = 100, 10, 150
BACKLOG = 9_000
"""Many more than one poll of any client returns."""
UNCLEAN = (Hazard.TRUNCATION_ABOVE, Hazard.TRUNCATION_BELOW, Hazard.TWO_ELECTIONS)
PAUSED = 2
"""The number of members that are paused: those of Java are in another process than the writers."""
PREPARE_SECONDS, READ_SECONDS, AGAIN_SECONDS = 30, 35, 10
ALLOWED = (
    Check.SKIPPED_RECORD,
    Check.TRUNCATION_UNDETECTED,
    Check.DIVERGENCE_MISMATCH,
    Check.OVER_TRUNCATION,
    Check.SILENT_REVALIDATION,
    Check.UNJUSTIFIED_RESET,
    Check.START_MISMATCH,
    Check.STUCK_CONSUMER,
    Check.UNREAD_RECORDS,
    Check.FAILED_CLIENT,
    Check.FETCH_UNAVAILABLE,
    Check.WITHHELD_COMMIT,
    Check.COMMIT_REGRESSED,
    Check.COMMITTED_EPOCH_MISSING,
    Check.COMMITTED_EPOCH_STALE,
    Check.COMMIT_MISMATCH,
    Check.DUPLICATE_DELIVERY,
)
"""What a client may do here; the cells say it."""


def _topic(hazard: str) -> TopicPlan:
    """The topic of a story: what may be lost or deleted depends on the hazard."""
    return TopicPlan(
        topic="orders",
        partitions=4 if hazard == Hazard.REBALANCE else 1,
        replication=2,
        min_insync=1,
        unclean_election=hazard in UNCLEAN,
        deletes=hazard in (Hazard.EXPIRED, Hazard.EPOCH_EXPIRED),
    )


def _groups(hazard: str, readers: list[Reader]) -> list[GroupPlan]:
    """The groups of a story: each reader as `live`, as `restart`, or both."""
    return [
        replace(
            reader(
                f"{like.group}.{meets}", "orders", client=like.client, manner=COMMITS[like.commit]
            ),
            reset=like.reset,
            isolation=like.isolation or None,
            level=like.level or Level.POSITIONS,
            labels={"meets": meets, "commit": like.commit},
            members=2 if hazard in (Hazard.REBALANCE, Hazard.PAUSED) else 1,
            workers=2 if hazard == Hazard.PAUSED and _is_java(like.client) else 1,
        )
        for like in readers
        for meets in MEETS[Hazard(hazard)]
    ]


def _is_java(client: str) -> bool:
    return client_of(client).module == Client.JAVA.module


def _leader_changes(run: Run, company: Company) -> None:
    company.open()
    company.read(timeout_seconds=PREPARE_SECONDS)
    run.produce("orders", count=BACKLOG, producer="backlog")
    _elect(run, [2, 1])
    run.produce("orders", count=FOLLOWING, producer="following")


def _truncates(run: Run, company: Company, *, new: int) -> HeldFault:
    """Lose records that all groups have committed; returns the fault on their leader."""
    follower = run.inject(Kill(FollowerOf("orders", 0)))
    run.await_isr("orders", 0, [1])
    run.produce("orders", count=LOST, producer="lost")
    run.phases.enter(Stage.HELD, "groups read and commit what is lost later")
    company.open()
    company.read(timeout_seconds=PREPARE_SECONDS)
    company.commit()
    company.close(RESTART)
    leader = run.inject(Kill(LeaderOf("orders", 0)))
    follower.heal()
    run.await_leader("orders", 0, 2)
    run.produce("orders", count=new, producer="new")
    return leader


def _truncates_above(run: Run, company: Company) -> None:
    _truncates(run, company, new=NEW)


def _truncates_below(run: Run, company: Company) -> None:
    _truncates(run, company, new=FOLLOWING)


def _returns(run: Run, company: Company) -> None:
    first = _truncates(run, company, new=NEW)
    run.inject(Kill(LeaderOf("orders", 0)))
    first.heal()
    run.await_leader("orders", 0, 1)
    run.produce("orders", count=FOLLOWING, producer="following")


def _expires(run: Run, company: Company) -> None:
    del company
    run.produce("orders", count=UNREAD, producer="unread")
    run.inject(DeleteBefore("orders", 0, offset=FIRST + DELETED_ABOVE))


def _epoch_expires(run: Run, company: Company) -> None:
    del company
    run.inject(DeleteBefore("orders", 0, offset=FIRST))
    _elect(run, [2, 1])
    run.produce("orders", count=FOLLOWING, producer="following")


def _is_recreated(run: Run, company: Company) -> None:
    del company
    run.inject(Recreate("orders"))
    run.produce("orders", count=RECREATED, producer="recreated")


def _rebalances(run: Run, company: Company) -> None:
    company.open()
    company.start_reading()
    company.await_members(1)
    run.phases.enter(Stage.HELD, "a second member joins each group, and leaves")
    company.join(2)
    company.start_reading(number=2)
    company.await_members(2)
    company.stop_reading(number=2)
    company.close(number=2)
    company.await_members(1)
    company.stop_reading()
    _write(run, FOLLOWING, producer="following")


def _is_leaderless(run: Run, company: Company) -> None:
    company.open()
    company.start_reading()
    company.await_members(1)
    killed = run.inject_all(Kill(Broker(2)), Kill(Broker(1)))
    run.await_leader("orders", 0, -1, is_serving=False)
    for fault in killed:
        fault.heal()
    run.await_in_sync()
    company.stop_reading()
    run.produce("orders", count=FOLLOWING, producer="following")


def _is_paused(run: Run, company: Company) -> None:
    company.open()
    company.read(timeout_seconds=PREPARE_SECONDS)
    company.commit()
    paused = run.inject_all(*(PauseClient(worker) for worker in company.workers()))
    run.produce("orders", count=UNREAD, producer="unread")
    company.await_no_members()
    for fault in paused:
        fault.heal()


def _is_served_by_another(run: Run, company: Company) -> None:
    run.produce("orders", count=UNREAD, producer="unread")
    _elect(run, [2, 1])
    epoch = run.leader_epoch("orders", 0)
    for group in company.groups():
        run.groups.alter_offsets(group.group, "orders", {0: FIRST}, epoch=epoch)
    run.phases.enter(Stage.FINAL_READ, "groups read to the log end, commit and are closed")
    company.open()
    company.read(timeout_seconds=READ_SECONDS, again_seconds=AGAIN_SECONDS)
    company.commit()
    company.close()


def _elect(run: Run, replicas: list[int]) -> None:
    run.inject(Reassign("orders", 0, replicas=replicas))
    run.inject(Elect("orders", 0, unclean=False))


def _write(run: Run, count: int, *, producer: str) -> None:
    """Write the same number of records to each partition."""
    for partition in range(run.plan.topics[0].partitions):
        run.produce("orders", count=count, producer=f"{producer}-{partition}", partition=partition)


STORIES: dict[str, Callable[[Run, Company], None]] = {
    "leader_change": _leader_changes,
    "truncation_above": _truncates_above,
    "truncation_below": _truncates_below,
    "expired": _expires,
    "epoch_expired": _epoch_expires,
    "recreated": _is_recreated,
    "rebalance": _rebalances,
    "leaderless": _is_leaderless,
    "two_elections": _returns,
    "paused": _is_paused,
    "other_client": _is_served_by_another,
}


class ConformanceScenario(Scenario):
    """One hazard a run, for all clients on one cluster."""

    topology = Topology(brokers=3, combined=(3,))
    groups = tuple(_groups("leader_change", [Reader(client=client) for client in CLIENTS]))
    must_judge = (Check.SKIPPED_RECORD, Check.FAULT_LANDED, Check.HISTORY_COMPLETE)
    answer = (
        "Of {{ group_events.groups(change='opened') | noun('group') }}, "
        "{{ skipped_record.groups }} skipped {{ skipped_record.records | noun('record') }} ("
        "{{ skipped_record.client }}) and {{ stuck_consumer.groups }} did not reach the log end ("
        "{{ stuck_consumer.client }})."
    )
    follows = Consequence(
        sentence=(
            "Whether a group keeps its place depends on its client and its release: "
            "{{ skipped_record.groups | noun('group') }} skipped records here, without an error."
        ),
        document="KIP-320, Proposed Changes",
    )

    @classmethod
    def node_count(cls) -> int:
        """Return as many as the longest list of readers needs."""
        return cls.topology.node_count + WORKERS_MAX + 1

    @matrix(hazard=list(STORIES))
    def test_conformance(self, hazard: str, readers: str = "") -> None:
        """`readers`: as in `extras.conform.vocabulary`; by default those of CLIENTS."""
        try:
            chosen = (
                readers_of(readers) if readers else [Reader(client=client) for client in CLIENTS]
            )
        except UsageError as mistake:
            refuse(mistake)
            raise
        groups = self.groups_here(_groups(hazard, chosen))
        others = [group.group for group in groups if group.client != CONTROL]
        allowed = [Expectation(check=check, groups=others, is_optional=True) for check in ALLOWED]
        with self.running(
            topics=[_topic(hazard)], groups=groups, expects=allowed if others else []
        ) as run:
            run.create(assignment=[1, 2])
            run.phases.enter(Stage.WARM_UP, f"{len(groups)} groups read, commit and are closed")
            _write(run, FIRST, producer="first")
            company = Company(run, groups, first=PAUSED if hazard == Hazard.PAUSED else 1)
            company.open()
            company.read(timeout_seconds=PREPARE_SECONDS)
            company.commit()
            company.close()
            STORIES[hazard](run, company)
            run.phases.enter(Stage.FINAL_READ, "groups resume, and read to the log end")
            company.open(RESTART)
            company.read(timeout_seconds=READ_SECONDS, again_seconds=AGAIN_SECONDS)
            company.close()
            run.settle()
