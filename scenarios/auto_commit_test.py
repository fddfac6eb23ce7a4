"""What does a group lose or read again when its member is killed between two automatic commits?

Cluster: 1 broker; one topic of 4 partitions.
Load:    36,000 records, and groups of each client, of one member, which takes 20 ms for each poll
         (librdkafka's, of 500 records, 500 ms): three with enable.auto.commit every 50 ms, and one
         with commitAsync after each poll, whose response the application does not await.
Fault:   three times, when each group has committed 4,000 further records, the processes of all
         members are killed. Others take their places.
Expect:  what was delivered after the last stored commit is delivered again. Java's client commits
         no record of a poll before the next one, so that nothing is skipped, but it does with
         group.protocol=consumer (KAFKA-18641). librdkafka and kafka-python commit in the
         background: a record may be committed that a poll was about to return.
Source:  Javadoc of KafkaConsumer, Automatic Offset Committing; KAFKA-18641; librdkafka,
         CONFIGURATION.md, enable.auto.offset.store; docs/auto-commit.md.
"""

from collections.abc import Iterator, Sequence
from typing import ClassVar

from cluster.kafka.topology import Topology
from contract.run_folder import Consequence, Expectation, GroupPlan, TopicPlan
from contract.software import Client
from contract.terms import Check, CommitEpoch, Manner, ResetPolicy, Stage
from harness.clients.process import WorkerService
from harness.faults import KillClient
from harness.story.consumers import members_of
from harness.story.run import Run
from harness.story.scenario import Scenario

PARTITIONS, RECORDS = 4, 9_000
KILLS, BETWEEN = 3, 4_000
INTERVAL_MS, POLLED = 50, 20
PROCESSING_MS, OF_LIBRDKAFKA_MS = 20, 500
SESSION_MS, HEARTBEAT_MS = 6_000, 1_000
IN_JAVA: dict[str, str | int] = {"auto.commit.interval.ms": INTERVAL_MS, "max.poll.records": POLLED}
CLASSIC: dict[str, str | int] = {
    "session.timeout.ms": SESSION_MS,
    "heartbeat.interval.ms": HEARTBEAT_MS,
}
COPIES = {Manner.PERIODIC: 3, Manner.UNAWAITED: 1}
SETTINGS: dict[Client, dict[str, str | int]] = {
    Client.JAVA: {**IN_JAVA, **CLASSIC},
    Client.JAVA_CONSUMER: IN_JAVA,
    Client.LIBRDKAFKA: {**CLASSIC, "auto.commit.interval.ms": INTERVAL_MS},
    Client.KAFKA_PYTHON: {
        "auto_commit_interval_ms": INTERVAL_MS,
        "max_poll_records": POLLED,
        "session_timeout_ms": SESSION_MS,
        "heartbeat_interval_ms": HEARTBEAT_MS,
    },
}


def _group(client: Client, manner: Manner, copy: int) -> GroupPlan:
    return GroupPlan(
        group=f"{client}.{manner}.{copy}",
        client=client,
        topic="orders",
        commit_epoch=CommitEpoch.RECORD,
        manner=manner,
        reset=ResetPolicy.EARLIEST,
        labels={"manner": manner},
        settings=SETTINGS[client],
    )


class AutoCommitScenario(Scenario):
    """Clients and manners, side by side."""

    topology = Topology(
        brokers=1,
        settings={
            "group.consumer.min.session.timeout.ms": str(SESSION_MS),
            "group.consumer.session.timeout.ms": str(SESSION_MS),
            "group.consumer.min.heartbeat.interval.ms": str(HEARTBEAT_MS),
            "group.consumer.heartbeat.interval.ms": str(HEARTBEAT_MS),
        },
    )
    orders = TopicPlan(
        topic="orders", partitions=PARTITIONS, replication=1, min_insync=1, unclean_election=False
    )
    groups = tuple(
        _group(client, manner, copy)
        for client in SETTINGS
        for manner, copies in COPIES.items()
        for copy in range(1, copies + 1)
    )
    spares: ClassVar = {Client.JAVA: KILLS, Client.LIBRDKAFKA: KILLS, Client.KAFKA_PYTHON: KILLS}
    must_judge = (
        Check.SKIPPED_RECORD,
        Check.DUPLICATE_DELIVERY,
        Check.COMMIT_REGRESSED,
        Check.START_MISMATCH,
        Check.LOST_COMMIT,
        Check.FAULT_LANDED,
        Check.HISTORY_COMPLETE,
    )
    answer = (
        "{{ skipped_record.records | whether('Records', 'None') }} skipped: "
        "{{ skipped_record.records }} in {{ skipped_record.groups | noun('group') }}, "
        "{{ skipped_record.records(verdict='violation') }} of them by a client that promises "
        "otherwise; {{ duplicate_delivery.records | noun('record') }} delivered again after "
        "{{ faults.rows | noun('kill') }} ({{ duplicate_delivery.records(manner='periodic') }} "
        "with enable.auto.commit, {{ duplicate_delivery.records(manner='unawaited') }} with "
        "commitAsync). {{ commit_beyond_processed.rows(kind='delivering') | noun('commit') }} "
        "were stored before the poll had returned their records."
    )
    follows = Consequence(
        sentence=(
            "Process what a poll returned before the next one, so that a repetition does no harm: "
            "{{ duplicate_delivery.records | noun('record') }} were delivered again, and "
            "{{ skipped_record.records(verdict='violation') }} skipped that Java's client had "
            "committed."
        ),
        document="Javadoc of KafkaConsumer, Automatic Offset Committing",
    )

    def test_auto_commit(self) -> None:
        groups = self.groups_here(self.groups)
        again = Expectation(
            check=Check.DUPLICATE_DELIVERY,
            groups=[group.group for group in groups],
            verdict="permitted",
            in_each=False,
        )
        without_epochs = Expectation(
            check=Check.COMMITTED_EPOCH_MISSING,
            groups=[group.group for group in groups if group.client == Client.KAFKA_PYTHON],
            is_optional=True,
        )
        expects = [again, without_epochs]
        with self.running(topics=[self.orders], groups=groups, expects=expects) as run:
            run.create(assignment=[1])
            run.watch()
            for partition in range(PARTITIONS):
                name = f"writer-{partition}"
                run.produce("orders", count=RECORDS, producer=name, partition=partition)
            self.read(run, groups, 1)
            for kill in range(1, KILLS + 1):
                run.phases.enter(Stage.STEADY, f"groups commit, {kill} of {KILLS}")
                for group in groups:
                    self.await_progress(run, group, kill * BETWEEN)
                run.workload.forget(list(members_of(groups, incarnation=kill)))
                workers = {worker.worker: worker for worker in self.workers(run, groups)}
                run.inject_all(*map(KillClient, workers))
                run.phases.enter(Stage.HEALED, "other members take their places")
                for worker in workers.values():
                    run.consumers.replace(
                        worker, bootstrap=run.kafka.bootstrap, kafka=run.kafka.version
                    )
                self.read(run, groups, kill + 1)
            run.read_to_end(groups, incarnation=KILLS + 1)

    def workers(self, run: Run, groups: Sequence[GroupPlan]) -> Iterator[WorkerService]:
        """Yield the workers of all members."""
        for group in groups:
            yield from run.consumers.workers_of(group)

    def read(self, run: Run, groups: Sequence[GroupPlan], incarnation: int) -> None:
        """Open the members, and let them read on."""
        for group in groups:
            is_librdkafka = group.client == Client.LIBRDKAFKA
            run.workload.start_reading(
                run.open([group], incarnation=incarnation),
                processing_ms=OF_LIBRDKAFKA_MS if is_librdkafka else PROCESSING_MS,
            )

    def await_progress(self, run: Run, group: GroupPlan, records: int) -> None:
        """Wait until a group has committed this number of records, in all partitions together."""
        run.observer.await_value(
            lambda: run.groups.committed(group.group),
            lambda committed: sum(committed.values()) >= records,
            what=f"{group.group} to commit {records} records",
            timeout_seconds=90,
        )
