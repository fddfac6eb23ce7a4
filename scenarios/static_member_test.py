"""Is a static member refused as a rival of its own group.instance.id?

Cluster: 1 broker, whose clients reach it through a proxy; one topic of one partition.
Load:    a KIP-848 group of one member with a group.instance.id reads 100 records and commits them;
         100 records follow.
Fault:   one of two.
         itself   the response to a heartbeat of the member is FENCED_MEMBER_EPOCH, once. The client
                  joins again with its member id and epoch 0.
         another  another process with the group.instance.id is opened beside the member.
Expect:  itself   the coordinator gives the member its partition back, as it does with a member that
                  is not static. Kafka 4.4.0 takes it for a rival of itself: UNRELEASED_INSTANCE_ID,
                  which ends the consumer.
         another  the coordinator refuses the newer process: UNRELEASED_INSTANCE_ID.
Source:  KIP-848; apache/kafka#23542.
"""

from ducktape.mark import matrix

from cluster.kafka.topology import Topology
from contract.run_folder import Consequence, TopicPlan
from contract.software import Client
from contract.terms import Check, Stage
from harness.faults import Refuse
from harness.story.scenario import Scenario
from harness.story.workload import reader

WRITTEN = 100


class StaticMemberScenario(Scenario):
    """One member, and a rival that is there or not."""

    topology = Topology(brokers=1, is_proxied=True)
    orders = TopicPlan(
        topic="orders", partitions=1, replication=1, min_insync=1, unclean_election=False
    )
    readers = reader(
        "readers",
        "orders",
        client=Client.JAVA_CONSUMER,
        settings={"group.instance.id": "reader-{number}"},
    )
    must_judge = (Check.FAILED_CLIENT, Check.HISTORY_COMPLETE)
    answer = (
        "{{ yes_if_any(failed_client.rows(verdict='violation'), asked='refused as a rival') }}: "
        "{{ failed_client.rows(verdict='violation') | noun('member') }} ended without a rival, "
        "{{ failed_client.rows(verdict='permitted') }} for one."
    )
    follows = Consequence(
        sentence=(
            "Restart a consumer that ended: "
            "{{ failed_client.rows | noun('process') }} of a static member got "
            "UNRELEASED_INSTANCE_ID here, and a process that polls on gets nothing."
        ),
        document="KIP-848; Javadoc of UnreleasedInstanceIdException",
    )

    @matrix(rival=["itself", "another"])
    def test_static_member(self, rival: str) -> None:
        groups = [self.readers]
        with self.running(topics=[self.orders], groups=groups) as run:
            run.create(assignment=[1])
            run.watch()
            run.phases.enter(Stage.WARM_UP, "the member reads and commits")
            run.produce("orders", count=WRITTEN, producer="writer")
            first = run.open(groups, incarnation=1)
            run.consume(first)
            run.commit(groups, incarnation=1)
            run.workload.start_reading(first)
            run.phases.enter(Stage.HELD, "the member joins again, or a rival of it joins")
            if rival == "itself":
                run.inject(
                    Refuse("CONSUMER_GROUP_HEARTBEAT", "readers", error="FENCED_MEMBER_EPOCH")
                )
                failing = first
            else:
                failing = run.open(groups, incarnation=2)
                run.workload.start_reading(failing)
            run.workload.await_failed(failing)
            run.produce("orders", count=WRITTEN, producer="writer")
            run.workload.end()
            run.close(list({*first, *failing}))
