"""Do clients continue without loss while a cluster is upgraded, and what leads back from there?

Cluster: 3 brokers that are controllers, too, on Kafka 3.9.2; one topic of 6 partitions with 3
         replicas, 2 of them in sync.
Load:    an acks=all producer, one with transactions, and groups of each client that read and
         commit, throughout; Java's clients are of the newer version.
Fault:   each server in turn shuts down and starts on 4.4.0, so that servers of both versions serve
         together. `path` forward: then feature levels are finalized, transaction.version is
         downgraded and upgraded again, and metadata.version is to be downgraded. back: each server
         in turn starts on 3.9.2 again, before any feature level is finalized.
Expect:  nothing is lost, skipped or reset. A server may return to the older version while
         metadata.version is one that it supports; the downgrade of metadata.version is refused, as
         versions in between change metadata. transaction.version may be downgraded.
Source:  Kafka documentation, Upgrading: Rolling upgrade and downgrade; KIP-584; KIP-778.
"""

from functools import partial

from ducktape.mark import matrix

from cluster.kafka.topology import Topology
from contract.errors import UsageError, WorkerError
from contract.run_folder import Consequence, TransactionPlan
from contract.software import CLASSIC, WITHOUT_EPOCHS, ClassPath
from contract.terms import Check, Stage
from harness.faults import Broker, Upgrade
from harness.story.features import HowFar
from harness.story.run import Run
from harness.story.scenario import Scenario
from harness.story.topics import durable_topic
from harness.story.workload import Workload, commits_no_epochs, reader, writer

STARTS_ON = {"4.4.0": "3.9.2"}
RECORDS_PER_SECOND = 500
BETWEEN = 500
METADATA, TRANSACTIONS, GROUPS = "metadata.version", "transaction.version", "group.version"
TXN_COMMIT = "TXN_OFFSET_COMMIT"
"""An API whose newest version is another one in the two versions."""
PRODUCERS = ("writer", "exact")


class RollingUpgradeScenario(Scenario):
    """The same upgrade for each path."""

    topology = Topology(brokers=3)
    orders = durable_topic("orders", partitions=6)
    producers = (
        writer("writer", "orders"),
        writer("exact", "orders", transactions=TransactionPlan(records=50, aborted=0.2)),
    )
    groups = tuple(reader(f"readers.{client}", "orders", client=client) for client in CLASSIC)
    expects = (commits_no_epochs([f"readers.{client}" for client in WITHOUT_EPOCHS]),)
    must_judge = (
        Check.LOST_RECORD,
        Check.SKIPPED_RECORD,
        Check.DUPLICATE_APPEND,
        Check.LOST_COMMIT,
        Check.UNJUSTIFIED_RESET,
        Check.SERVED_UNDER_FENCED_EPOCH,
        Check.FAULT_LANDED,
        Check.HISTORY_COMPLETE,
    )
    answer = (
        "{{ yes_if_none(lost_record.records(verdict='violation') + "
        "skipped_record.records(verdict='violation') + lost_commit.rows(verdict='violation'), "
        "asked='without loss') }}: of "
        "{{ sends.records(outcome='ok') | noun('acknowledged record') }}, "
        "{{ lost_record.records }} were lost, and {{ skipped_record.records }} skipped, in "
        "{{ faults.rows(fault='upgrade') | noun('restart') }} on another version. "
        "{{ wire_calls.rows(api='UPDATE_FEATURES', error_code=0) | noun('update') }} of feature "
        "levels succeeded, {{ wire_calls.rows(api='UPDATE_FEATURES', error_code=95) }} were "
        "refused."
    )
    follows = Consequence(
        sentence=(
            "Finalize metadata.version only when no return is wanted: until then each server "
            "could return to its older version, with {{ lost_record.records | noun('record') }} "
            "lost; its downgrade is refused."
        ),
        document="Kafka documentation, Upgrading",
    )

    @matrix(path=["forward", "back"])
    def test_rolling_upgrade(self, path: str) -> None:
        if self.session.builds.server_jars or self.session.kafka not in STARTS_ON:
            raise UsageError(
                f"rolling_upgrade has no version to start on before {self.session.kafka}: it is "
                f"for the releases {', '.join(STARTS_ON)}"
            )
        older = STARTS_ON[self.session.kafka]
        with self.running(
            topics=[self.orders], groups=self.groups, expects=self.expects, starts_on=older
        ) as run:
            run.create(assignment=[1, 2, 3], is_spread=True)
            run.watch()
            load = run.start_load(self.orders, self.groups, records_per_second=RECORDS_PER_SECOND)
            load.await_acknowledged(PRODUCERS, BETWEEN)
            self.restart(run, load, self.session.builds.of_servers)
            if path == "forward":
                self.finalize(run, load)
            else:
                self.restart(run, load, ClassPath(locked=older))
            run.settle()
            run.read_to_end(self.groups)

    def restart(self, run: Run, load: Workload, to: ClassPath) -> None:
        """Restart each server on a version, in random order."""
        newest = partial(run.wire.newest, api=TXN_COMMIT)
        for broker in self.random.sample(self.topology.broker_ids, self.topology.brokers):
            run.inject(Upgrade(Broker(broker), to=to, api=TXN_COMMIT, newest=newest))
            run.phases.enter(Stage.HELD, f"broker {broker} is on {to.locked}")
            load.await_acknowledged(PRODUCERS, BETWEEN)
            run.await_in_sync()

    def finalize(self, run: Run, load: Workload) -> None:
        """Finalize feature levels, and try each way back."""
        before, newest = run.features.finalized(1), run.features.newest(1)
        levels = {name: newest[name] for name in (METADATA, TRANSACTIONS, GROUPS)}
        for wanted, how in (
            ({METADATA: levels[METADATA]}, HowFar.UPGRADE),
            ({name: levels[name] for name in (TRANSACTIONS, GROUPS)}, HowFar.UPGRADE),
            ({TRANSACTIONS: levels[TRANSACTIONS] - 1}, HowFar.SAFE_DOWNGRADE),
            ({TRANSACTIONS: levels[TRANSACTIONS]}, HowFar.UPGRADE),
        ):
            run.phases.enter(Stage.HELD, f"{how.name.lower()} to {wanted}")
            if error := run.features.update(wanted, how):
                raise WorkerError(f"{how.name} to {wanted} was refused with error {error}")
            run.features.await_finalized(wanted)
            load.await_acknowledged(PRODUCERS, BETWEEN)
        run.phases.enter(Stage.HELD, "the downgrade of metadata.version")
        for how in (HowFar.SAFE_DOWNGRADE, HowFar.UNSAFE_DOWNGRADE):
            if not run.features.update({METADATA: before[METADATA]}, how):
                raise WorkerError(f"{how.name} of {METADATA} to {before[METADATA]} was not refused")
        run.features.await_finalized(levels)
        load.await_acknowledged(PRODUCERS, BETWEEN)
