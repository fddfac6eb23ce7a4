"""Which releases of the Python clients go on reading after an election, and after a rebalance?

Cluster: 2 brokers, one of them also the controller; one topic with replicas on both.
Fault:   `election`: 10,000 records are written under epoch 0, then the other replica is elected,
         and is in sync. Each group begins to read at 0. `rebalance`: each group has 4 partitions
         and reads; then a further member joins it and leaves. After that 500 records are written
         to each partition.
Expect:  each group reads to the log ends. kafka-python 3.0.5 does not after the election: at each
         poll it compares the epoch of its position, which is the record's, with the leader's, and
         validates the position again, so that few polls return records. 3.0.6 compares the epoch
         under which the position was validated. kafka-python 3.0.5, 3.0.6 and 3.0.8 do not after
         the rebalance, as members with a rebalance listener: what such a member keeps stays marked
         as about to be revoked, and is not fetched. 3.0.9 removes the mark. librdkafka is in none
         of the reports. A kafka-python member that has read nothing since the rebalance may commit
         without an epoch, as in `rolling_bounce`.
Source:  KIP-320, KIP-429; dpkp/kafka-python #3106, #3107, #3131, #3132; runs and the
         clients' source: docs/client-versions.md.
"""

from ducktape.mark import matrix
from msgspec.structs import replace

from cluster.kafka.topology import Topology
from contract.run_folder import Consequence, Expectation, GroupPlan, TopicPlan
from contract.terms import Check, Stage
from harness.faults import Elect, Reassign, Rebalance
from harness.story.run import Run
from harness.story.scenario import Scenario
from harness.story.workload import commits_no_epochs, reader

BEFORE, AFTER = {"election": 10_000, "rebalance": 2_000}, 500
PARTITIONS = {"election": 1, "rebalance": 4}
READ_SECONDS = 45
"""More than the 30 s for which a stall may be due to a fault."""
KAFKA_PYTHON = (
    "kafka-python@3.0.5",
    "kafka-python@3.0.6",
    "kafka-python@3.0.8",
    "kafka-python@3.0.9",
    "kafka-python@3.0.10",
    "kafka-python@3.0.11",
    "kafka-python@3.0.12",
)
LIBRDKAFKA = ("librdkafka@2.15.1", "librdkafka@2.16.0", "librdkafka@2.16.1")
"""The last three releases of each, and before and after each fix."""
STANDING = {
    "election": KAFKA_PYTHON[:1],
    "rebalance": KAFKA_PYTHON[:3],
}


def _group(client: str) -> GroupPlan:
    return reader(client.replace("@", "-"), "orders", client=client)


class ClientVersionsScenario(Scenario):
    """One election for all, or one rebalance for each: a group is one version of a client."""

    topology = Topology(brokers=2, combined=(1,))
    orders = TopicPlan(
        topic="orders", partitions=1, replication=2, min_insync=2, unclean_election=False
    )
    groups = tuple(map(_group, (*KAFKA_PYTHON, *LIBRDKAFKA)))
    must_judge = (
        Check.STUCK_CONSUMER,
        Check.SKIPPED_RECORD,
        Check.DUPLICATE_DELIVERY,
        Check.UNJUSTIFIED_RESET,
        Check.LOST_RECORD,
        Check.FAULT_LANDED,
        Check.HISTORY_COMPLETE,
    )
    answer = (
        "{{ stuck_consumer.groups }} of "
        "{{ group_events.groups(change='opened') | noun('group') }}, each of another release, "
        "stopped below the log ends ({{ stuck_consumer.client }}) and read no further within 45 s."
    )
    follows = Consequence(
        sentence=(
            "Before an application takes another release of its client, let it read through an "
            "election and a rebalance: of "
            "{{ group_events.groups(change='opened') | noun('release') }} "
            "{{ stuck_consumer.groups }} stood still here, without an exception ("
            "{{ stuck_consumer.client }})."
        ),
        document="KIP-320, Proposed Changes; KIP-429, Public Interfaces",
    )

    @matrix(event=list(PARTITIONS))
    def test_client_versions(self, event: str) -> None:
        groups = self.random.sample(self.groups, len(self.groups))
        orders = replace(self.orders, partitions=PARTITIONS[event])
        standing = [_group(client).group for client in STANDING[event]]
        expects = [
            Expectation(check=Check.STUCK_CONSUMER, groups=standing),
            Expectation(check=Check.FETCH_UNAVAILABLE, groups=standing, is_optional=True),
            commits_no_epochs([_group(client).group for client in KAFKA_PYTHON]),
        ]
        with self.running(topics=[orders], groups=groups, expects=expects) as run:
            run.create(assignment=[2, 1])
            self.write(run, orders, BEFORE[event] // orders.partitions, producer="before")
            if event == "election":
                run.inject(Reassign("orders", 0, replicas=[1, 2]))
                run.inject(Elect("orders", 0, unclean=False))
                members = run.open(groups, incarnation=1)
            else:
                members = self.read_and_rebalance(run, groups)
                self.write(run, orders, AFTER, producer="after")
            run.phases.enter(Stage.FINAL_READ, f"{len(groups)} groups read to the log ends")
            run.consume(members, timeout_seconds=READ_SECONDS)
            run.close(members)
            run.settle()

    def read_and_rebalance(self, run: Run, groups: list[GroupPlan]) -> list[str]:
        """Let each group read, and rebalance while it reads; returns the members."""
        run.phases.enter(Stage.WARM_UP, f"{len(groups)} groups read and commit")
        members = run.open(groups, incarnation=1)
        run.workload.start_reading(members)
        run.workload.await_commits({group.group: [f"{group.group}#1"] for group in groups})
        run.phases.enter(Stage.HELD, "a further member joins each group, and leaves")
        for group in groups:
            run.groups.await_members(group.group, 1)
            run.inject(Rebalance(group.group))
        run.workload.stop_reading()
        return members

    def write(self, run: Run, orders: TopicPlan, count: int, *, producer: str) -> None:
        """Write the same number of records to each partition."""
        for partition in range(orders.partitions):
            run.produce(
                "orders", count=count, producer=f"{producer}-{partition}", partition=partition
            )
