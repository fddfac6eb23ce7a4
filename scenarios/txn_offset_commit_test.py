"""Do brokers store and return the offsets of OffsetCommit and TxnOffsetCommit as KIP-1319 says?

Cluster: 3 brokers; a topic of 2 partitions with 3 replicas, whose leader epoch advances once.
Load:    `wire`: commits with and without a transaction, and OffsetFetch, each at every version that
         the coordinator supports: of no member, of a member of each group protocol, of a member
         with an older and with a newer generation, of a group that does not exist; of a partition
         and of a topic that do not exist; of a producer with an older epoch.
         `clients`: transactional Java producers that copy what a group reads, for a group of each
         protocol, with the group's offsets in the transaction.
         `recreated`: the same, of a topic that is deleted and created again: `before` has sent its
         offsets, `after` has only read. The new topic has fewer records in one partition and more
         in the other. Then commits by its old and its new id, and by its name.
Fault:   `clients`: a group's coordinator is killed in a transaction; then successors take over, and
         the old producers continue. `recreated`: the deletion; then the coordinator of `before` is
         killed, so that another one loads what is stored. `upgrade`: copying goes on while all
         brokers, which are controllers too, are restarted from Kafka 4.3.1 to 4.4.0, one by one.
Expect:  accepted commits are stored with their epoch, and from TxnOffsetCommit version 6 on with
         the topic's id; refused ones are not stored. Unknown topics are reported first, and for
         their partitions only. GROUP_ID_NOT_FOUND and STALE_MEMBER_EPOCH are returned from version
         6 on, ILLEGAL_GENERATION before. OffsetFetch returns what is stored. Old producers are
         refused, and no transaction is incomplete. The offsets of `before` are gone with the topic;
         before Kafka 4.0 from the coordinator's memory only, and another coordinator returns them,
         so that `before` skips records of the new topic, too. Those of `after` are stored for the
         new topic, since the client knows its topic by name: beyond the log end, or past records
         that the group then skips.
Source:  KIP-1319, KIP-320 (OffsetCommit, TxnOffsetCommit, OffsetFetch), KIP-848, KIP-447.
"""

import dataclasses
from collections.abc import Iterator
from functools import partial

from ducktape.mark import matrix
from msgspec.structs import replace

from cluster.kafka.topology import Topology
from contract.errors import UsageError
from contract.protocol import (
    FIRST_WITH_MEMBER_EPOCHS,
    TXN_COMMIT,
)
from contract.run_folder import Consequence, Expectation, GroupPlan
from contract.software import Client
from contract.terms import Check, Isolation, Stage
from harness.faults import Broker, CoordinatorOf, Elect, Kill, Reassign, Recreate, TakeOver, Upgrade
from harness.story.run import Run
from harness.story.scenario import Scenario
from harness.story.topics import durable_topic
from harness.story.transactions import require
from harness.story.workload import reader
from scenarios.offset_commits import (
    FIRST_WITHOUT_ADD_OFFSETS,
    PER_EPOCH,
    SIMPLE,
    Committing,
    Copying,
    Membership,
    WireCommits,
)

FEW, MANY = 10, 80
ROUNDS = 2
COORDINATOR_SECONDS = 60
ABSENT = Membership(group="absent", member="m", generation=0)
NO_MEMBER = "nobody"
OF_WIRE = (Check.WRONG_COMMIT_ERROR, Check.WRONG_STORED_COMMIT, Check.WRONG_FETCHED_COMMIT)
OF_TRANSACTIONS = (
    Check.ZOMBIE_PRODUCER_ACCEPTED,
    Check.TORN_TRANSACTION,
    Check.HANGING_TRANSACTION,
    Check.OFFSETS_WITHOUT_OUTPUT,
    Check.OUTPUT_WITHOUT_OFFSETS,
    Check.WRONG_FETCHED_COMMIT,
)
OF_RECREATED = (
    Check.UNJUSTIFIED_RESET,
    Check.RESET,
    Check.HANGING_TRANSACTION,
    Check.COMMIT_BEYOND_LOG,
    Check.COMMIT_BEYOND_PROCESSED,
)
OF_UPGRADE = (*OF_TRANSACTIONS[1:], Check.WRONG_STORED_COMMIT)
PARTS = ("wire", "clients", "recreated", "upgrade")
STARTS_ON = {"4.4.0": "4.3.1"}
"""Of the part `upgrade`: the version that brokers start on, by the run's version."""


class TxnOffsetCommitScenario(Committing, Copying, Scenario):
    """Requests of groups and transactions, each at every version."""

    topology = Topology(brokers=3)
    orders = durable_topic("orders", partitions=2)
    copies = durable_topic("copies", partitions=1)
    copiers = tuple(
        replace(reader(name, "orders", client=client), isolation=Isolation.READ_COMMITTED)
        for name, client in (("classic", Client.JAVA), ("consumer", Client.JAVA_CONSUMER))
    )
    lates = tuple(
        replace(reader(name, "orders"), isolation=Isolation.READ_COMMITTED)
        for name in ("before", "after")
    )
    check_reader = replace(reader("reader", "copies"), isolation=Isolation.READ_COMMITTED)
    must_judge = (Check.FAULT_LANDED, Check.HISTORY_COMPLETE, Check.METADATA_DIVERGENCE)
    answer = (
        "{{ yes_if_none(wrong_commit_error.rows(verdict='violation') + "
        "wrong_stored_commit.rows(verdict='violation') + "
        "wrong_fetched_commit.rows(verdict='violation'), asked='as KIP-1319 says') }}: of "
        "{{ wire_calls.rows | noun('response') }} about a partition or a member, "
        "{{ wrong_commit_error.rows(verdict='violation') }} had another error than Kafka's source "
        "says; of what was committed, {{ wrong_stored_commit.rows(verdict='violation') }} is "
        "stored otherwise, and {{ wrong_fetched_commit.rows(verdict='violation') }} was returned "
        "otherwise."
    )
    follows = Consequence(
        sentence=(
            "Pass the consumer's groupMetadata() to sendOffsetsToTransaction(): only then can the "
            "coordinator refuse the offsets of a member that its group has replaced."
        ),
        document="KIP-447; Javadoc of KafkaProducer.sendOffsetsToTransaction()",
    )

    @matrix(part=list(PARTS))
    def test_txn_offset_commit(self, part: str) -> None:
        getattr(self, part)()

    def wire(self) -> None:
        """Send each request at every version."""
        with self.running(topics=[self.orders], must_judge=OF_WIRE) as run:
            run.create(assignment=[1, 2, 3])
            run.watch()
            self.write(run)
            commits = WireCommits(run.wire, run.observer)
            run.phases.enter(Stage.STEADY, "commits without a transaction")
            members = list(self.members(commits))
            for member in members:
                self.commit(commits, member)
            run.phases.enter(Stage.STEADY, "commits in transactions")
            for version in commits.versions(SIMPLE.group, TXN_COMMIT):
                self.commit_in_transaction(commits, members, version)
            run.settle()

    def write(self, run: Run) -> None:
        """Write partition 0 in two epochs, and remember them and the topic's id."""
        run.phases.enter(Stage.WARM_UP, "both partitions are written")
        epochs: list[int] = []
        for leader in (1, 2):
            if epochs:
                others = [broker for broker in (1, 2, 3) if broker != leader]
                run.inject(Reassign("orders", 0, replicas=[leader, *others]))
                run.inject(Elect("orders", 0, unclean=False))
            epochs.append(run.leader_epoch("orders", 0))
            run.produce("orders", count=PER_EPOCH, producer=f"epoch-{epochs[-1]}")
        run.produce("orders", count=PER_EPOCH, producer="other", partition=1)
        self.identify(run, epochs)

    def members(self, commits: WireCommits) -> Iterator[Membership]:
        """Join groups of both protocols; yield each member at its own generation and at others."""
        yield SIMPLE
        yield ABSENT
        classic = commits.join_classic("classic")
        yield classic
        yield classic.at(classic.generation + 1)
        yield Membership(group="classic", member=NO_MEMBER, generation=classic.generation)
        if self.kafka_version >= (FIRST_WITH_MEMBER_EPOCHS,):
            first = commits.join_consumer("consumer", "first", "orders")
            commits.join_consumer("consumer", "second", "orders")
            current = commits.await_newer(first)
            yield current
            yield first
            yield dataclasses.replace(first, only=0)
            yield dataclasses.replace(first, only=1)
            yield current.at(current.generation + 1)

    # Part `clients`.

    def clients(self) -> None:
        """Copy in transactions of the Java client, through the end of a coordinator."""
        copiers = [group for group in self.copiers if group in self.groups_here(self.copiers)]
        names = [group.group for group in copiers]
        groups = (*copiers, self.check_reader)
        again = Expectation(check=Check.DUPLICATE_DELIVERY, groups=names, verdict="permitted")
        with self.running(
            topics=[self.orders, self.copies],
            groups=groups,
            expects=[again],
            must_judge=OF_TRANSACTIONS,
        ) as run:
            run.create(assignment=[1, 2, 3])
            run.watch()
            commits = WireCommits(run.wire, run.observer)
            run.phases.enter(Stage.WARM_UP, "each group's records are copied once")
            self.fill(run)
            run.open(copiers, incarnation=1)
            self.open_producers(run, names)
            for group in names:
                self.copy(run, group, "old", incarnation=1)
                require(run.transactions.commit(f"{group}.old"))
            self.fetch_of(run, commits, names)
            self.commit(commits, SIMPLE)
            run.phases.enter(Stage.HELD, "a coordinator ends in its group's transaction")
            self.fill(run)
            for group in names:
                self.copy(run, group, "old", incarnation=1)
                self.fetch(commits, group, is_stable=True)
            with run.fault(Kill(CoordinatorOf(names[0]))):
                for group in names:
                    require(run.transactions.commit(f"{group}.old"))
            run.settle()
            run.phases.enter(Stage.HELD, "successors take over")
            self.fill(run)
            for group in names:
                self.copy(run, group, "old", incarnation=1)
            run.inject(TakeOver(tuple(names), by=lambda name: self.succeed(run, name)))
            for group in names:
                self.send_offsets(run, group, "old")
                run.transactions.commit(f"{group}.old")
            run.close([f"{group}#1" for group in names])
            run.phases.enter(Stage.HEALED, "successors copy")
            run.open(copiers, incarnation=2)
            for group in names:
                self.copy(run, group, "new", incarnation=2)
                require(run.transactions.commit(f"{group}.new"))
            self.fetch_of(run, WireCommits(run.wire, run.observer), names)
            self.read(run)

    # Part `recreated`.

    def recreated(self) -> None:
        """Replace a topic between what a group read and its commit."""
        groups: tuple[GroupPlan, ...] = self.lates
        expects = [
            Expectation(check=check, groups=["after"])
            for check in (Check.COMMIT_BEYOND_LOG, Check.COMMIT_BEYOND_PROCESSED)
        ]
        skipping = ["after"]
        if self.kafka_version < (FIRST_WITH_MEMBER_EPOCHS,):
            expects.append(Expectation(check=Check.WRONG_FETCHED_COMMIT))
            skipping.append("before")
        expects.append(Expectation(check=Check.SKIPPED_RECORD, groups=skipping, is_optional=True))
        with self.running(
            topics=[self.orders, self.copies],
            groups=groups,
            must_judge=OF_RECREATED,
            expects=expects,
        ) as run:
            run.create(assignment=[1, 2, 3])
            run.watch()
            run.phases.enter(Stage.WARM_UP, "both groups read")
            self.fill(run)
            self.identify(run)
            run.open(groups, incarnation=1)
            self.open_producers(run, ["before", "after"])
            self.copy(run, "before", "old", incarnation=1)
            require(run.transactions.begin("after.old"))
            run.consume(["after#1"])
            run.phases.enter(Stage.HELD, "the topic is deleted and created again")
            run.inject(Recreate("orders"))
            run.produce("orders", count=FEW, producer="few")
            run.produce("orders", count=MANY, producer="many", partition=1)
            commits = WireCommits(run.wire, run.observer)
            old_id = self.topic_id
            self.topic_id = run.wire.topic_id("orders", is_new=True)
            run.phases.enter(Stage.HEALED, "both groups commit")
            self.send_offsets(run, "after", "old")
            for name in ("before", "after"):
                run.transactions.commit(f"{name}.old")
            for version in commits.versions(SIMPLE.group, TXN_COMMIT):
                producer = commits.initialize(f"version-{version}")
                if version < FIRST_WITHOUT_ADD_OFFSETS:
                    commits.add_group(producer, SIMPLE.group)
                for topic_id in (old_id, self.topic_id):
                    name = f"version {version} of {topic_id}"
                    offsets = [
                        dataclasses.replace(offset, topic_id=topic_id)
                        for offset in self.offsets(name)[:1]
                    ]
                    commits.commit_in(producer, SIMPLE, offsets, version=version)
                commits.end(producer)
            self.fetch_of(run, commits, [SIMPLE.group, "before", "after"])
            run.phases.enter(Stage.HELD, "another coordinator loads what is stored")
            before = run.observer.coordinator("before")
            with run.fault(Kill(CoordinatorOf("before"))):
                run.observer.await_that(
                    lambda: run.observer.coordinator("before") != before,
                    what="another coordinator of group before",
                    timeout_seconds=COORDINATOR_SECONDS,
                )
                self.fetch_of(run, WireCommits(run.wire, run.observer), ["before"])
            run.close(["before#1", "after#1"])
            run.settle()
            run.open(groups, incarnation=2)
            run.read_to_end(groups, incarnation=2)

    # Part `upgrade`.

    def upgrade(self) -> None:
        """Restart every broker on the run's version while groups copy in transactions."""
        if self.session.builds.server_jars or self.session.kafka not in STARTS_ON:
            raise UsageError(
                f"part upgrade has no version to start on before {self.session.kafka}: it is "
                f"for the releases {', '.join(STARTS_ON)}"
            )
        names = [group.group for group in self.copiers]
        brokers = self.random.sample(self.topology.broker_ids, self.topology.brokers)
        with self.running(
            topics=[self.orders, self.copies],
            groups=(*self.copiers, self.check_reader),
            must_judge=OF_UPGRADE,
            starts_on=STARTS_ON[self.session.kafka],
        ) as run:
            run.create(assignment=[1, 2, 3])
            run.watch()
            self.identify(run)
            run.phases.enter(Stage.WARM_UP, "groups copy on the older version")
            run.open(self.copiers, incarnation=1)
            self.open_producers(run, names)
            self.copy_once(run, names, incarnation=1, pending=partial(self.pending, run))
            self.ask(run, names)
            to = self.session.builds.of_servers
            newest = partial(run.wire.newest, api=TXN_COMMIT)
            with self.copying(run, names) as copying:
                copying.await_more(ROUNDS)
                for broker in brokers:
                    run.phases.enter(Stage.HELD, f"broker {broker} is upgraded")
                    run.inject(Upgrade(Broker(broker), to=to, api=TXN_COMMIT, newest=newest))
                    copying.await_more(ROUNDS)
                    self.ask(run, names)
                run.settle()
            run.phases.enter(Stage.HEALED, "groups are opened again")
            self.fetch_of(run, WireCommits(run.wire, run.observer), names)
            run.close([f"{group}#1" for group in names])
            run.open(self.copiers, incarnation=2)
            self.copy_once(run, names, incarnation=2, pending=partial(self.pending, run))
            self.fetch_of(run, WireCommits(run.wire, run.observer), names)
            self.read(run)

    def pending(self, run: Run, group: str) -> None:
        """Fetch stable offsets while a transaction of the group is open."""
        self.fetch(WireCommits(run.wire, run.observer), group, is_stable=True)
