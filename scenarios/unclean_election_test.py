"""When the last in-sync replica fails and another one is elected, is every loss accounted for?

Cluster: 3 brokers, 1 controller; one topic of 6 partitions with 3 replicas, all led by broker 1.
Load:    two producers, acks=1 and acks=all, and a group that reads and commits, throughout.
Fault:   broker 3 is killed, then broker 2 is stopped (a killed one would not be eligible again):
         broker 1 acknowledges alone. Then broker 1 is killed, and one of the others is started
         before it.
Expect:  stale   broker 3 is started, unclean election allowed: every record acknowledged
                 without it is lost, also with acks=all. The loss is permitted and fully counted.
         eligible   broker 2 is started, min.insync.replicas 2, no unclean election: as an eligible
                 leader replica (KIP-966), it is elected cleanly. Of acks=all nothing is lost, of
                 acks=1 the records that broker 1 acknowledged alone. Before Kafka 4.1 eligible
                 leader replicas are disabled by default: as `waiting`.
         waiting   as before, but without eligible leader replicas: there is no leader until broker
                 1 is back, and nothing is lost.
         ordered   broker 3 is started, the configuration forbids unclean elections, and an
                 administrator requests one on each partition: as `stale`, permitted by the request.
Source:  KIP-320, KIP-460, KIP-966.
"""

from dataclasses import replace

from ducktape.mark import matrix

from cluster.kafka.topology import Topology
from contract.run_folder import Consequence, Expectation, TopicPlan
from contract.terms import Check, Stage
from harness.faults import Broker, Elect, Kill, Stop
from harness.story.scenario import Scenario
from harness.story.workload import reader, writer

RECORDS_PER_SECOND = 1000
TOGETHER, ALONE, AFTERWARDS = 500, 500, 500
ELIGIBLE_LEADERS = "eligible.leader.replicas.version"
ELIGIBLE_LEADERS_SINCE = (4, 1)
EXPECTED_LOSS = Expectation(check=Check.LOST_RECORD, verdict="permitted")


class UncleanElectionScenario(Scenario):
    """The broker that is started first, and what the configuration then allows."""

    topology = Topology(brokers=3, controllers=1)
    producers = (writer("one", "orders", acks="1"), writer("all", "orders"))
    groups = (reader("readers", "orders"),)
    must_judge = (
        Check.LOST_RECORD,
        Check.LOSS_ESTIMATE,
        Check.LEADER_COMPLETENESS,
        Check.UNCLEAN_ELECTION_UNCONFIGURED,
        Check.SILENT_REVALIDATION,
        Check.UNJUSTIFIED_RESET,
        Check.FAULT_LANDED,
        Check.HISTORY_COMPLETE,
    )
    answer = (
        "{{ yes_if_none(lost_record.records(verdict='violation'), asked='accounted for') }}: "
        "{{ lost_record.records(acks=1) | noun('record') }} acknowledged with acks=1 and "
        "{{ lost_record.records(acks='all') }} with acks=all were lost, and "
        "{{ lost_record.records(verdict='violation') }} of them without a cause that permits it."
    )
    follows = Consequence(
        sentence=(
            "Allow or request an unclean election only where availability matters more than "
            "acknowledged records: this run lost "
            "{{ lost_record.records(acks='all') | noun('record') }} of acks=all and "
            "{{ lost_record.records(acks=1) }} of acks=1."
        ),
        document="Kafka documentation, Design: Unclean leader election",
    )

    @matrix(successor=["stale", "eligible", "waiting", "ordered"])
    def test_unclean_election(self, successor: str) -> None:
        is_ordered = successor == "ordered"
        is_stale = successor == "stale" or is_ordered
        has_eligible = self.kafka_version >= ELIGIBLE_LEADERS_SINCE
        is_eligible = successor == "eligible" and has_eligible
        orders = TopicPlan(
            topic="orders",
            partitions=6,
            replication=3,
            min_insync=1 if is_stale else 2,
            unclean_election=successor == "stale",
        )
        features = {ELIGIBLE_LEADERS: int(is_eligible)} if has_eligible else {}
        with self.running(
            topics=[orders],
            groups=self.groups,
            expects=[EXPECTED_LOSS] if is_stale or is_eligible else [],
            topology=replace(self.topology, features=features),
            must_judge=[Check.ELIGIBLE_LEADER_REPLICAS] if is_eligible else [],
        ) as run:
            run.create(assignment=[1, 2, 3])
            run.watch()
            load = run.start_load(orders, self.groups, records_per_second=RECORDS_PER_SECOND)
            load.await_acknowledged(["all"], TOGETHER)
            third = run.inject(Kill(Broker(3)))
            run.phases.enter(Stage.HELD, "two replicas in sync")
            load.await_acknowledged(["all"], TOGETHER)
            second = run.inject(Stop(Broker(2)))
            run.await_isr("orders", 0, [1])
            run.phases.enter(Stage.HELD, "broker 1 acknowledges alone")
            load.await_acknowledged(["one"], ALONE)
            first = run.inject(Kill(Broker(1)))
            run.phases.enter(Stage.HELD, f"{successor}: the first broker is started")
            (third if is_stale else second).heal()
            if is_ordered:
                run.observer.await_leaderless("orders", 0, according_to=3)
                for partition in range(orders.partitions):
                    run.inject(Elect("orders", partition, unclean=True))
            if is_stale or is_eligible:
                run.await_leader("orders", 0, 3 if is_stale else 2, is_serving=is_stale)
            else:
                run.observer.await_leaderless("orders", 0, according_to=2)
            first.heal()
            run.heal()
            run.phases.enter(Stage.HEALED, "all brokers are back")
            load.await_acknowledged(["all"], AFTERWARDS)
            run.settle()
            run.read_to_end(self.groups)
