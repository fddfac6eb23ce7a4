"""Can a deposed leader still acknowledge writes, and do they survive?

Cluster: 3 brokers, 1 controller; one topic of 6 partitions with 3 replicas, 2 of them in sync.
Load:    two producers, acks=1 and acks=all, and a group that reads and commits, throughout.
Fault:   the leader of orders-0 becomes a zombie, by one of four recipes; clients reach it
         throughout. It is healed after it has acknowledged as a zombie.
         pause        its node is paused until it is fenced, then resumes.
         controllers  it is partitioned from the controller only.
         deaf         what other servers send to it is dropped.
         mute         what it sends to other servers is dropped.
         In a TCP connection, a drop in one direction stops both: no acknowledgement arrives.
         Packets of a deaf broker arrive, but the responses do not. docs/hazards.md has the
         measurements.
Expect:  acks=1 writes that the zombie acknowledged are lost, all of them accounted for: served
         under a fenced epoch, truncated when it rejoined. No acks=all write is lost. No fenced
         broker is in an ISR.
Source:  KIP-320, KAFKA-6880, KIP-841.
"""

from ducktape.mark import matrix

from cluster.kafka.topology import Topology
from contract.run_folder import Consequence, Expectation
from contract.terms import Check, Stage
from harness.faults import BrokerFault, Cut, LeaderOf, Links, Pause
from harness.story.scenario import Scenario
from harness.story.topics import durable_topic
from harness.story.workload import reader, writer

RECORDS_PER_SECOND = 1000
BEFORE, BY_ZOMBIE, BY_SUCCESSORS = 300, 200, 300
LEADER = LeaderOf("orders", 0)
RECIPES: dict[str, BrokerFault] = {
    "pause": Pause(LEADER),
    "controllers": Cut(LEADER, Links.CONTROLLERS),
    "deaf": Cut(LEADER, Links.IN),
    "mute": Cut(LEADER, Links.OUT),
}


class ZombieLeaderScenario(Scenario):
    """The same story for each recipe."""

    topology = Topology(brokers=3, controllers=1)
    orders = durable_topic("orders", partitions=6)
    producers = (writer("one", "orders", acks="1"), writer("all", "orders"))
    groups = (reader("readers", "orders"),)
    expects = (
        Expectation(check=Check.SERVED_UNDER_FENCED_EPOCH, verdict="permitted"),
        Expectation(check=Check.LOST_RECORD, verdict="permitted"),
    )
    must_judge = (
        Check.LOST_RECORD,
        Check.SERVED_UNDER_FENCED_EPOCH,
        Check.OVER_TRUNCATION,
        Check.LOSS_ESTIMATE,
        Check.LEADER_COMPLETENESS,
        Check.FENCED_IN_ISR,
        Check.MIN_INSYNC_BREACHED,
        Check.FAULT_LANDED,
        Check.HISTORY_COMPLETE,
    )
    answer = (
        "{{ yes_if_any(served_under_fenced_epoch.records(kind='accepted_by_zombie'), asked='still "
        "acknowledge writes') }}: after its successor's epoch had begun, the deposed leader "
        "acknowledged {{ served_under_fenced_epoch.records(kind='accepted_by_zombie', acks=1) | "
        "noun('record') }} with acks=1 and "
        "{{ served_under_fenced_epoch.records(kind='accepted_by_zombie', acks='all') }} with "
        "acks=all. {{ lost_record.records(acks=1) }} with acks=1 and "
        "{{ lost_record.records(acks='all') }} with acks=all did not survive."
    )
    follows = Consequence(
        sentence=(
            "With acks=1 the response of a leader does not say that it still leads: of what it "
            "had acknowledged, {{ lost_record.records(acks=1) | noun('record') }} with acks=1 and "
            "{{ lost_record.records(acks='all') }} with acks=all were lost."
        ),
        document="Kafka documentation, producer configuration acks",
    )

    @matrix(recipe=list(RECIPES))
    def test_zombie_leader(self, recipe: str) -> None:
        fault = RECIPES[recipe]
        with self.running(topics=[self.orders], groups=self.groups, expects=self.expects) as run:
            run.create(assignment=[1, 2, 3], is_spread=True)
            run.watch()
            load = run.start_load(self.orders, self.groups, records_per_second=RECORDS_PER_SECOND)
            load.await_acknowledged(["one", "all"], BEFORE)
            epoch = run.leader_epoch("orders", 0)

            with run.fault(fault):
                zombies = run.preferred_of(fault.broker, self.orders)
                run.await_epoch_above(self.orders, zombies, epoch)
                if recipe != "pause":
                    run.phases.enter(Stage.HELD, "the zombie acknowledges")
                    load.await_acknowledged(["one"], BY_ZOMBIE, partitions=zombies)
            run.phases.enter(Stage.HEALED, "the successors acknowledge")
            load.await_acknowledged(["all"], BY_SUCCESSORS, partitions=zombies)
            run.settle()
            run.read_to_end(self.groups)
