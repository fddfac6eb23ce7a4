"""Is a partition read on when one of its group's members is fenced once, and joins again?

Cluster: 3 brokers, 1 controller; one topic of 2 partitions with 3 replicas, 2 of them in sync.
Load:    an acks=all producer throughout; a KIP-848 group with two members, which read and commit.
Fault:   the response to one heartbeat is FENCED_MEMBER_EPOCH, which the broker did not send: so a
         member stands as one whose last responses were lost.
Expect:  a dynamic member gives its partition up, joins again at once, and reads on (4.1.1: it is
         refused until its session ends, KAFKA-19233). A static one is refused as a rival of itself,
         and its client raises: the partition has no owner until the session ends.
Source:  KIP-848, KIP-345, KAFKA-19233, apache/kafka#23542.
"""

from ducktape.mark import matrix

from cluster.kafka.topology import Topology
from contract.run_folder import Consequence, Expectation
from contract.software import Client
from contract.terms import Check, Stage
from harness.faults import Refuse
from harness.story.scenario import Scenario
from harness.story.topics import durable_topic
from harness.story.workload import reader, writer

RECORDS_PER_SECOND = 100
BEFORE, PART, PARTS = 1000, 2000, 3
"""More are written afterwards than in the session timeout of 45 s."""


class RefusedMemberScenario(Scenario):
    """One group, whose members are dynamic or static."""

    topology = Topology(brokers=3, controllers=1, is_proxied=True)
    orders = durable_topic("orders", partitions=2)
    producers = (writer("writer", "orders"),)
    groups = (
        reader("dynamic", "orders", client=Client.JAVA_CONSUMER, members=2),
        reader(
            "static",
            "orders",
            client=Client.JAVA_CONSUMER,
            members=2,
            settings={"group.instance.id": "i-{number}"},
        ),
    )
    must_judge = (
        Check.UNREAD_RECORDS,
        Check.FETCH_UNAVAILABLE,
        Check.SKIPPED_RECORD,
        Check.FAULT_LANDED,
        Check.HISTORY_COMPLETE,
    )
    answer = (
        "{{ yes_if_none(unread_records.rows(verdict='violation'), asked='read on') }}: "
        "{{ unread_records.rows(verdict='violation') | noun('partition') }} had no owner for "
        "longer than any limit of Kafka explains."
    )
    follows = Consequence(
        sentence=(
            "Watch which partitions have no owner, not only which members are there: "
            "{{ unread_records.rows | noun('time') }} in which records waited in one."
        ),
        document="KIP-848",
    )

    @matrix(member=["dynamic", "static"])
    def test_refused_member(self, member: str) -> None:
        groups = [group for group in self.groups if group.group == member]
        refused = [
            Expectation(check=check, groups=["static"])
            for check in (Check.UNREAD_RECORDS, Check.FAILED_CLIENT)
        ]
        expects = refused if member == "static" else []
        with self.running(topics=[self.orders], groups=groups, expects=expects) as run:
            run.create(assignment=[1, 2, 3], is_spread=True)
            run.watch()
            load = run.start_load(self.orders, groups, records_per_second=RECORDS_PER_SECOND)
            run.groups.await_members(member, 2)
            load.await_acknowledged(["writer"], BEFORE)
            run.inject(Refuse("CONSUMER_GROUP_HEARTBEAT", member, error="FENCED_MEMBER_EPOCH"))
            for _ in range(PARTS):
                load.await_acknowledged(["writer"], PART)
            run.phases.enter(Stage.HEALED, "the group reads on")
            run.settle()
            run.read_to_end(groups)
