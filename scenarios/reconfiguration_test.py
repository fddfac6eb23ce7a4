"""Do clients continue without loss while an administrator moves, restarts or recreates resources?

Cluster: 4 brokers, 1 controller; topic `orders` of 6 partitions and topic `scrap` of one, each with
         replicas on brokers 1, 2 and 3, 2 of them in sync.
Load:    an acks=all producer on orders, and a group that reads it and commits, throughout.
Fault:   by one of three recipes.
         bounce    each of brokers 1, 2 and 3 is restarted, one after the other.
         reassign  the replicas of orders-0 move to brokers 4, 2 and 3, its leader with them, and
                   back.
         recreate  `scrap` is written to, and a group reads it, commits and is closed. The topic is
                   deleted and created again with fewer records. The group is opened again.
Expect:  nothing is lost, and every reset has a cause. The records of the deleted topic are
         deleted by request. The coordinator deletes the group's commit with the topic. The reopened
         group has no commit, and begins by its reset policy.
Source:  KIP-320, KIP-455, KIP-516; `OffsetMetadataManager.onTopicsDeleted` (before:
         `onPartitionsDeleted`).
"""

from ducktape.mark import matrix

from cluster.kafka.topology import Topology
from contract.run_folder import Consequence
from contract.terms import Check, Stage
from harness.faults import Bounce, Broker, Reassign, Recreate
from harness.story.run import Run
from harness.story.scenario import Scenario
from harness.story.topics import durable_topic
from harness.story.workload import reader, writer

RECORDS_PER_SECOND = 1000
BETWEEN = 1000
REPLICAS, MOVED = [1, 2, 3], [4, 2, 3]
BEFORE, AGAIN = 500, 200


class ReconfigurationScenario(Scenario):
    """Routine operations of an administrator."""

    topology = Topology(brokers=4, controllers=1)
    topics = orders, scrap = (
        durable_topic("orders", partitions=6),
        durable_topic("scrap", partitions=1),
    )
    producers = (writer("writer", "orders"),)
    groups = readers, late = (reader("readers", "orders"), reader("late", "scrap"))
    must_judge = (
        Check.LOST_RECORD,
        Check.SKIPPED_RECORD,
        Check.LOST_COMMIT,
        Check.UNJUSTIFIED_RESET,
        Check.LOG_DIVERGENCE,
        Check.MIN_INSYNC_BREACHED,
        Check.FAULT_LANDED,
        Check.HISTORY_COMPLETE,
    )
    answer = (
        "{{ yes_if_none(lost_record.records(verdict='violation') + skipped_record.records + "
        "unjustified_reset.rows, asked='without loss') }}: of "
        "{{ sends.records(outcome='ok') | noun('acknowledged record') }}, "
        "{{ lost_record.records(verdict='violation') }} were lost, "
        "{{ lost_record.records(verdict='permitted') }} deleted with their topic and "
        "{{ skipped_record.records }} skipped; {{ unjustified_reset.rows | noun('reset') }} "
        "without a cause."
    )
    follows = Consequence(
        sentence=(
            "A topic that is created again under its name is another topic, and its groups have "
            "to begin again: {{ lost_record.records(verdict='permitted') | noun('record') }} were "
            "deleted with their topic; otherwise {{ lost_record.records(verdict='violation') }} "
            "were lost."
        ),
        document="KIP-516",
    )

    @matrix(recipe=["bounce", "reassign", "recreate"])
    def test_reconfiguration(self, recipe: str) -> None:
        is_recreated = recipe == "recreate"
        topics = self.topics if is_recreated else (self.orders,)
        groups = self.groups if is_recreated else (self.readers,)
        with self.running(topics=topics, groups=groups) as run:
            run.create(assignment=REPLICAS, is_spread=True)
            run.watch()
            load = run.start_load(
                self.orders, [self.readers], records_per_second=RECORDS_PER_SECOND
            )
            load.await_acknowledged(["writer"], BETWEEN)
            match recipe:
                case "bounce":
                    self.bounce(run)
                case "reassign":
                    with run.fault(Reassign("orders", 0, replicas=MOVED)):
                        load.await_acknowledged(["writer"], BETWEEN)
                case "recreate":
                    self.recreate(run)
            run.phases.enter(Stage.HEALED, "the load continues")
            load.await_acknowledged(["writer"], BETWEEN)
            run.settle()
            run.read_to_end([self.readers])

    def bounce(self, run: Run) -> None:
        """Restart each broker that has replicas, once all are in sync again."""
        for broker in REPLICAS:
            with run.fault(Bounce(Broker(broker))):
                run.workload.await_acknowledged(["writer"], BETWEEN)
            run.settle()

    def recreate(self, run: Run) -> None:
        """Write to a topic, read and commit, recreate it, and do so again."""
        run.produce("scrap", count=BEFORE, producer="scrap")
        self.read(run, incarnation=1)
        run.inject(Recreate("scrap"))
        run.produce("scrap", count=AGAIN, producer="scrap")
        self.read(run, incarnation=2)

    def read(self, run: Run, *, incarnation: int) -> None:
        """Let the topic's group read to the log end and commit."""
        run.phases.enter(Stage.STEADY, f"group late reads scrap, incarnation {incarnation}")
        members = run.open([self.late], incarnation=incarnation)
        run.consume(members, may_pass=True)
        run.commit([self.late], incarnation=incarnation)
        run.close(members)
