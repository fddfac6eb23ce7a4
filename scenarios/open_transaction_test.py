"""Where does a consumer begin whose group has offsets in a transaction that does not end?

Cluster: 3 brokers; topics `orders` and `copies` of one partition.
Load:    groups of two members. The first one is Java's, copies 50 records of `orders` in a
         transaction with its offsets, and commits it; in groups `never` it does not.
Fault:   it copies 50 more, sends its offsets, and then nothing: its transaction is open until
         transaction.timeout.ms. It is closed.
         The second member is opened at once, with its client's own isolation.level, asks for the
         committed offset, and reads to the log end.
Expect:  a client that asks for stable offsets (Java, librdkafka by read_committed) waits until the
         transaction is aborted and begins at 50; kafka-python, which does not, begins at 50 at
         once. In groups `never` each begins at 0, as nothing was committed. None goes to the log
         start behind the commit of 50.
Source:  confluent-kafka-go#1093; KIP-447.
"""

from cluster.kafka.topology import Topology
from contract.run_folder import Consequence, GroupPlan, MemberPlan
from contract.software import CLASSIC, Client
from contract.terms import Check, CommitEpoch, Isolation, ResetPolicy, Stage
from harness.story.run import Run
from harness.story.scenario import Scenario
from harness.story.topics import durable_topic
from harness.story.transactions import require

WRITTEN, COPIED = 100, 50
TIMEOUT_MS = 20_000


def _group(client: Client, before: str, isolation: Isolation | None = None) -> GroupPlan:
    return GroupPlan(
        group=f"{client}.{before}" + (f".{isolation}" if isolation else ""),
        client=client,
        topic="orders",
        commit_epoch=CommitEpoch.RECORD,
        reset=ResetPolicy.EARLIEST,
        isolation=isolation,
        labels={"before": before},
        members=2,
        others={1: MemberPlan(client=Client.JAVA, settings={"max.poll.records": COPIED})},
    )


class OpenTransactionScenario(Scenario):
    """Each client alone behind Java's first member."""

    topology = Topology(brokers=3)
    orders = durable_topic("orders", partitions=1)
    copies = durable_topic("copies", partitions=1)
    groups = (
        *(_group(client, before) for client in CLASSIC for before in ("committed", "never")),
        _group(Client.LIBRDKAFKA, "committed", Isolation.READ_UNCOMMITTED),
        _group(Client.KAFKA_PYTHON, "committed", Isolation.READ_COMMITTED),
    )
    must_judge = (
        Check.START_MISMATCH,
        Check.UNJUSTIFIED_RESET,
        Check.SKIPPED_RECORD,
        Check.DUPLICATE_DELIVERY,
        Check.HISTORY_COMPLETE,
    )
    answer = (
        "{{ unjustified_reset.rows | noun('reset') }} without a cause, "
        "{{ start_mismatch.groups(verdict='violation') | noun('group') }} began elsewhere than at "
        "its commit; {{ duplicate_delivery.records | noun('record') }} were delivered again."
    )
    follows = Consequence(
        sentence=(
            "A consumer that asks for stable offsets waits until an open transaction of its group "
            "ends, at most its timeout; {{ duplicate_delivery.records | noun('record') }} were "
            "delivered again."
        ),
        document="KIP-447",
    )

    def test_open_transaction(self) -> None:
        groups = self.groups_here(self.groups)
        with self.running(topics=[self.orders, self.copies], groups=groups) as run:
            run.create(assignment=[1, 2, 3])
            run.watch()
            run.phases.enter(Stage.WARM_UP, "the first members copy and commit")
            run.produce("orders", count=WRITTEN, producer="writer")
            first = run.open(groups, incarnation=1, number=1, is_subscribed=False)
            run.calls.assign(first)
            for group, member in zip(groups, first, strict=True):
                require(
                    run.transactions.open(
                        group.group, transactional_id=group.group, timeout_ms=TIMEOUT_MS
                    ),
                )
                if group.labels["before"] == "committed":
                    self.copy(run, group, member)
                    require(run.transactions.commit(group.group))
                self.copy(run, group, member)
            run.close(first)
            run.phases.enter(Stage.HELD, "the second members read")
            second = run.open(groups, incarnation=1, number=2)
            run.consume(second)
            run.commit(groups, incarnation=1, number=2)
            run.calls.committed(second)
            run.close(second)
            run.settle()

    def copy(self, run: Run, group: GroupPlan, member: str) -> None:
        """Begin a transaction, and copy records in it with their offsets."""
        require(
            run.transactions.begin(group.group),
            run.transactions.copy(
                group.group, member=member, topic=self.copies, partition=0, records=COPIED
            ),
        )
