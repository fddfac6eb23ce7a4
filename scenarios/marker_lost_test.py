"""What do readers get of a committed transaction whose marker an unclean election has lost?

Cluster: 3 brokers, 1 controller; one topic of one partition with replicas on brokers 1 and 2, one
         of them in sync, unclean election allowed.
Load:    a transaction writes 10 records, which both replicas have; groups of each client, one that
         reads committed records only and one that reads all.
Fault:   the follower is paused until it is out of the ISR. The transaction is committed: its
         marker is on the leader alone. The leader is killed, the follower resumes and is elected.
         100 records follow without a transaction. The old leader is started, and the groups read.
Expect:  the coordinator has completed the transaction, and writes no further marker. The last
         stable offset stays at its first record: groups that read committed records get none of
         the 110, those that read all get all. The election permits both; no record that was
         acknowledged is lost.
Source:  KAFKA-20716, KIP-98, KIP-664; `TransactionMarkerChannelManager`, `ProducerStateManager`.
"""

from itertools import product

from msgspec.structs import replace

from cluster.kafka.topology import Topology
from contract.run_folder import Consequence, Expectation, TopicPlan
from contract.software import INSTALLED
from contract.terms import Check, Isolation, Stage
from harness.faults import Broker, Kill, Pause
from harness.story.run import Run
from harness.story.scenario import Scenario
from harness.story.transactions import require
from harness.story.workload import reader

LEADER, FOLLOWER = 1, 2
IN_TRANSACTION, PLAIN = 10, 100
COMPLETED = "CompleteCommit"
READ_SECONDS = 20
SECONDS = 30
COMMITTED = str(Isolation.READ_COMMITTED)


class MarkerLostScenario(Scenario):
    """One transaction, and a group of each client and isolation level."""

    topology = Topology(brokers=3, controllers=1)
    orders = TopicPlan(
        topic="orders", partitions=1, replication=2, min_insync=1, unclean_election=True
    )
    groups = tuple(
        replace(
            reader(f"{client}.{isolation}", "orders", client=client),
            isolation=isolation,
            labels={"isolation": isolation},
        )
        for client, isolation in product(INSTALLED, Isolation)
    )
    must_judge = (
        Check.HANGING_TRANSACTION,
        Check.STUCK_CONSUMER,
        Check.LOST_RECORD,
        Check.UNCLEAN_ELECTION_UNCONFIGURED,
        Check.FAULT_LANDED,
        Check.HISTORY_COMPLETE,
    )
    answer = (
        "{{ hanging_transaction.records | noun('committed record') }} of a transaction had no "
        "marker after the election. Of "
        "{{ polls.records(isolation='read_uncommitted') | noun('record') }} that groups got which "
        "read all, groups that read committed records got "
        "{{ polls.records(isolation='read_committed') }}: "
        "{{ stuck_consumer.groups | noun('group') }} stood still ({{ stuck_consumer.client }})."
    )
    follows = Consequence(
        sentence=(
            "After an unclean election look for transactions that hang (kafka-transactions.sh "
            "find-hanging), and abort them: until then "
            "{{ stuck_consumer.groups | noun('group') }} of {{ group_members.groups }} got no "
            "further record."
        ),
        document="KIP-664",
    )

    def test_marker_lost(self) -> None:
        groups = self.groups_here(self.groups)
        held = [group.group for group in groups if group.isolation == COMMITTED]
        expects = (
            Expectation(check=Check.HANGING_TRANSACTION, verdict="permitted"),
            Expectation(check=Check.STUCK_CONSUMER, verdict="permitted", groups=held),
        )
        with self.running(topics=[self.orders], groups=groups, expects=expects) as run:
            run.create(assignment=[LEADER, FOLLOWER])
            run.watch()
            run.phases.enter(Stage.WARM_UP, "a transaction writes")
            require(
                run.transactions.open("writer", transactional_id="writer"),
                run.transactions.begin("writer"),
                run.transactions.send("writer", self.orders, count=IN_TRANSACTION),
            )
            follower = run.inject(Pause(Broker(FOLLOWER)))
            run.await_isr("orders", 0, [LEADER])
            run.phases.enter(Stage.HELD, "the transaction is committed")
            require(run.transactions.commit("writer"))
            self.await_completed(run)
            run.inject(Kill(Broker(LEADER)))
            follower.heal()
            run.await_leader("orders", 0, FOLLOWER)
            run.phases.enter(Stage.HELD, "records follow")
            run.produce("orders", count=PLAIN, producer="plain")
            run.settle()
            run.phases.enter(Stage.FINAL_READ, "groups read to the log end")
            members = run.open(groups, incarnation=1)
            run.consume(members, timeout_seconds=READ_SECONDS)
            run.close(members)

    def await_completed(self, run: Run) -> None:
        """Wait until the coordinator has written the marker, on the leader alone."""
        run.observer.await_value(
            lambda: run.observer.transactions(["writer"])[0].state,
            lambda state: state == COMPLETED,
            what=f"the transaction to be in state {COMPLETED}",
            timeout_seconds=SECONDS,
        )
