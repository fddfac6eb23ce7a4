"""When records expire before a group reads them, does it lose these records and no others?

Cluster: 3 brokers; one topic of 6 partitions with 3 replicas; segments of half a second.
Load:    an acks=all producer throughout; group `current` reads and commits; the groups
         `lagging.*` have read and committed a little, and stopped.
Fault:   all records in the log expire, by time (retention.ms is set to three seconds), by
         size or by DeleteRecords, and once while the leader of a partition is killed. Then the
         lagging groups are opened again.
Expect:  the lagging groups' commits are out of range: each resets by its policy or raises an
         exception. They lose the records that expired unread, which is permitted and counted.
         Group `current` keeps up and loses nothing: it had read the expired records. By time, no
         record is deleted that is younger than retention.ms.
Source:  `retention.ms`, `auto.offset.reset` (configuration); KAFKA-19902 (what resets a group),
         KIP-107 (DeleteRecords).
"""

from contextlib import ExitStack

from ducktape.mark import parametrize
from msgspec.structs import replace

from cluster.kafka.topology import Topology
from contract.run_folder import Consequence, Expectation
from contract.terms import Check, ResetPolicy, Stage
from harness.faults import By, Expire, Kill, LeaderOf
from harness.faults.expire import EXPIRING_TOPIC
from harness.story.scenario import Scenario
from harness.story.topics import durable_topic
from harness.story.workload import reader, writer

RECORDS_PER_SECOND = 2000
RETENTION_MS = 3000
READ_BEFORE_LAGGING, UNREAD, AFTERWARDS = 1000, 4000, 1000


class RetentionDeletionScenario(Scenario):
    """The same scenario for each cause of expiry, with and without a change of the leader."""

    topology = Topology(brokers=3)
    orders = durable_topic("orders", partitions=6)
    current = reader("current", "orders")
    lagging = tuple(reader(f"lagging.{reset}", "orders", reset=reset) for reset in ResetPolicy)
    producers = (writer("writer", "orders"),)
    groups = (current, *lagging)
    expects = (
        Expectation(check=Check.LOST_RECORD, verdict="permitted"),
        Expectation(
            check=Check.RESET, groups=[late.group for late in lagging], verdict="permitted"
        ),
        Expectation(
            check=Check.COMMIT_EXPIRED, groups=[late.group for late in lagging], verdict="permitted"
        ),
    )
    must_judge = (
        Check.LOST_RECORD,
        Check.EXPIRED_READ,
        Check.RETENTION_OVERREACH,
        Check.COMMIT_EXPIRED,
        Check.COMMITTED_EPOCH_EXPIRED,
        Check.RESET,
        Check.UNJUSTIFIED_RESET,
        Check.START_MISMATCH,
        Check.RESUMPTION,
        Check.FAULT_LANDED,
        Check.HISTORY_COMPLETE,
    )
    answer = (
        "{{ yes_if_none(lost_record.records(verdict='violation') + "
        "skipped_record.records(verdict='violation') + "
        "retention_overreach.rows(verdict='violation'), asked='these records and no others') }}: "
        "{{ lost_record.records(kind='expired_unread') | noun('record') }} expired before a "
        "lagging group had read them, and {{ lost_record.records(verdict='violation') }} others "
        "were lost. {{ commit_expired.groups | noun('group') }} found their commits expired and "
        "followed their policies ({{ resets.policy(cause='out_of_range') }})."
    )
    follows = Consequence(
        sentence=(
            "The retention of a topic states how soon a group has to read its records: "
            "{{ lost_record.records(kind='expired_unread') | noun('record') }} expired unread, "
            "and {{ commit_expired.groups | noun('group') }} without a valid position had to "
            "follow auto.offset.reset."
        ),
        document="Kafka documentation, configurations retention.ms and auto.offset.reset",
    )

    @parametrize(by="time", leader="unchanged")
    @parametrize(by="size", leader="unchanged")
    @parametrize(by="order", leader="unchanged")
    @parametrize(by="time", leader="killed")
    def test_retention_deletion(self, by: str, leader: str) -> None:
        is_by_time = by == By.TIME
        orders = replace(
            self.orders, retention_ms=RETENTION_MS if is_by_time else None, deletes=not is_by_time
        )
        with self.running(topics=[orders], groups=self.groups, expects=self.expects) as run:
            run.create(assignment=[1, 2, 3], is_spread=True, settings=EXPIRING_TOPIC)
            run.watch()

            load = run.start_load(orders, [self.current], records_per_second=RECORDS_PER_SECOND)
            run.phases.enter(Stage.WARM_UP, "the lagging groups read a little, then stop")
            load.await_acknowledged(["writer"], READ_BEFORE_LAGGING)
            late = run.open(self.lagging, incarnation=1)
            run.consume(late, may_pass=True)
            run.commit(self.lagging, incarnation=1)
            run.close(late)
            load.await_acknowledged(["writer"], UNREAD)

            run.phases.enter(Stage.STEADY, "writing and reading")
            with ExitStack() as faults:
                if leader == "killed":
                    faults.enter_context(run.fault(Kill(LeaderOf("orders", 0))))
                with run.fault(Expire(orders, By(by))):
                    load.await_acknowledged(["writer"], AFTERWARDS)
            run.settle()
            load.stop_producers()
            run.open(self.lagging, incarnation=2)
            run.read_to_end([self.current], incarnation=1)
            run.read_to_end(self.lagging, incarnation=2)
