"""Is a static member refused as a rival of its own group.instance.id?

Cluster: 1 broker, whose clients reach it through a proxy; one topic of one partition.
Load:    groups of three clients, of one member with a group.instance.id, read 100 records and
         commit them.
Fault:   one of two.
         itself   only with KIP-848: the response to a heartbeat of the member is
                  FENCED_MEMBER_EPOCH, once. The client joins again with its member id and epoch 0.
         another  another process with the group.instance.id is opened beside the member.
         Then 100 records follow.
Expect:  itself   the coordinator gives the member its partition back, as it does with a member that
                  is not static. Kafka 4.4.0 takes it for a rival of itself: UNRELEASED_INSTANCE_ID,
                  which ends the consumer.
         another  KIP-848's coordinator refuses the newer process: UNRELEASED_INSTANCE_ID. With the
                  classic protocol the older process is fenced: FENCED_INSTANCE_ID.
Source:  KIP-345; KIP-848; apache/kafka#23542.
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
CLIENTS = (Client.JAVA, Client.LIBRDKAFKA, Client.JAVA_CONSUMER)
"""kafka-python 3.0.12 reported nothing to the older process, for 60 s."""


class StaticMemberScenario(Scenario):
    """One member, and a rival that is there or not."""

    topology = Topology(brokers=1, is_proxied=True)
    orders = TopicPlan(
        topic="orders", partitions=1, replication=1, min_insync=1, unclean_election=False
    )
    groups = tuple(
        reader(client, "orders", client=client, settings={"group.instance.id": "{number}"})
        for client in CLIENTS
    )
    must_judge = (Check.FAILED_CLIENT, Check.HISTORY_COMPLETE)
    answer = (
        "{{ yes_if_any(failed_client.rows(verdict='violation'), asked='refused as a rival') }}: "
        "{{ failed_client.rows(verdict='violation') | noun('member') }} ended without a rival, "
        "{{ failed_client.rows(verdict='permitted') }} for one."
    )
    follows = Consequence(
        sentence=(
            "A process of a static member that was refused or fenced gets nothing any more, here "
            "{{ failed_client.rows | noun('client') }}: it has to be started again."
        ),
        document="KIP-345; KIP-848; Javadoc of UnreleasedInstanceIdException",
    )

    @matrix(rival=["itself", "another"])
    def test_static_member(self, rival: str) -> None:
        groups = [
            group
            for group in self.groups_here(self.groups)
            if rival == "another" or group.client == Client.JAVA_CONSUMER
        ]
        with self.running(topics=[self.orders], groups=groups) as run:
            run.create(assignment=[1])
            run.watch()
            run.phases.enter(Stage.WARM_UP, "the members read and commit")
            run.produce("orders", count=WRITTEN, producer="writer")
            older = run.open(groups, incarnation=1)
            run.consume(older)
            run.commit(groups, incarnation=1)
            run.workload.start_reading(older)
            run.phases.enter(Stage.HELD, "members join again, or rivals of them join")
            newer: list[str] = []
            if rival == "itself":
                heartbeat, error = "CONSUMER_GROUP_HEARTBEAT", "FENCED_MEMBER_EPOCH"
                for group in groups:
                    run.inject(Refuse(heartbeat, group.group, error=error))
                failing = older
            else:
                newer = run.open(groups, incarnation=2)
                run.workload.start_reading(newer)
                failing = [
                    new if group.client == Client.JAVA_CONSUMER else old
                    for group, old, new in zip(groups, older, newer, strict=True)
                ]
            run.workload.await_failed(failing)
            run.produce("orders", count=WRITTEN, producer="writer")
            run.workload.end()
            run.close([*older, *newer])
