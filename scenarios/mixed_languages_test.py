"""Do a Java client's commits stop a member of the same group in another language from committing?

Cluster: 3 brokers; topic `orders` of 2 partitions on brokers 1 and 2. The story is about orders-0;
         orders-1 gets new records before each reading: what is committed there shows that a commit
         was sent.
Load:    groups of two members. The first one is Java's; it reads, commits in one style, and is
         closed. The second one is opened after it, is to read to the log end, commits and ends,
         again and again: of librdkafka by commit(), commit(message), commit(offsets),
         store_offsets() and commit(), and auto-commit; of kafka-python and of Java by commit(),
         commit(offsets) and auto-commit. It is closed (`ends`: closed), or its process is killed
         (killed), after the auto-commit of its other partition.
Fault:   `newer_epoch`: 100 records are written under epoch 0, then another replica is elected. Java
         commits (50, epoch 1), its metadata's epoch, by hand, as option 2 of KAFKA-19902 would; in
         groups `record` it commits (50, epoch 0). Before the last reading, records are written
         under epoch 1.
         `by_client`: as newer_epoch, but Java commits by commitSync() without arguments, so that a
         patched client chooses the epoch. Some members read before the election (`read`: before),
         and commit after it, without another poll; the others read after it (after).
         `truncation`: 100 records are on both replicas, and 100 on one; Java commits (200, without
         an epoch), in groups `record` (200, epoch 0). The other replica is elected, and 50 records
         are written; before the last reading 250 more.
Expect:  newer_epoch   librdkafka's commit() stores nothing until a record of epoch 1 was read, and
         each member reads 50 records again: it leaves a position out that is not above the stored
         commit, by epoch first. So does auto-commit if the process is killed; an orderly close
         stores. commit(message), commit(offsets), kafka-python and Java store 100 at once.
         by_client     the same, if the client commits epoch 1; with the released client, which
         commits epoch 0, all store (docs/data/arbiter_predictions.yml).
         truncation    librdkafka's commit() stores nothing, as 150 is below 200. The next member
         begins at 200, and 50 records are skipped; so with auto-commit if the process is killed.
         All else store 150. In groups `record` all store, in both. kafka-python, which was
         delivered nothing since it was opened, commits its position without an epoch.
Source:  librdkafka `rd_kafka_fetch_pos_cmp`, `rd_kafka_topic_partition_list_set_offsets` (commit()
         and auto-commit), `rd_kafka_assignment_serve_removals` (close); KAFKA-19902,
         librdkafka#1372, #4384.
"""

from collections.abc import Iterator
from typing import ClassVar

from ducktape.mark import matrix

from cluster.kafka.topology import Topology
from contract.run_folder import Consequence, Expectation, GroupPlan, MemberPlan, TopicPlan
from contract.software import Client
from contract.terms import Check, CommitEpoch, Manner, ResetPolicy, Stage
from harness.faults import Elect, FollowerOf, Kill, KillClient, LeaderOf, Reassign
from harness.story.run import Run
from harness.story.scenario import Scenario

NEWER_EPOCH, BY_CLIENT, TRUNCATION = "newer_epoch", "by_client", "truncation"
CLOSED, KILLED = "closed", "killed"
BEFORE, AFTER = "before", "after"
WRITTEN, LATER, CONTROL = 100, 50, 10
AFTER_TRUNCATION, APPENDED = 50, 250
READ_FIRST = {NEWER_EPOCH: 50, BY_CLIENT: 50, TRUNCATION: 200}
FIRST_STYLE = {
    NEWER_EPOCH: CommitEpoch.METADATA,
    BY_CLIENT: CommitEpoch.RECORD,
    TRUNCATION: CommitEpoch.NONE,
}
READINGS = {NEWER_EPOCH: 4, BY_CLIENT: 4, TRUNCATION: 1}
"""How often the second members read, before what is written for the last reading."""
METADATA_REQUESTS = 2
"""Requests to the coordinator beside which a member that does not poll asks for metadata."""
SETTINGS: dict[Client, dict[str, str | int]] = {
    Client.LIBRDKAFKA: {"auto.commit.interval.ms": 1000, "session.timeout.ms": 6000},
}

_PLAIN = (CommitEpoch.RECORD, Manner.SYNC)
_OFFSETS = (CommitEpoch.APPLICATION, Manner.SYNC)
_AUTO = (CommitEpoch.RECORD, Manner.AUTO)
CALLS = {
    "commit": _PLAIN,
    "offsets": _OFFSETS,
    "message": (CommitEpoch.APPLICATION, Manner.MESSAGE),
    "stored": (CommitEpoch.RECORD, Manner.STORED),
    "auto": _AUTO,
}
"""The style and the manner of each of the second members' calls."""
OF_LIBRDKAFKA_ALONE = ("message", "stored")


def _groups(hazard: str) -> Iterator[GroupPlan]:
    """The groups of one hazard."""
    if hazard == BY_CLIENT:
        for read in (BEFORE, AFTER):
            yield from _each_call(CommitEpoch.RECORD, read=read)
        return
    yield from _each_call(FIRST_STYLE[hazard])
    for ends in (CLOSED, KILLED):
        for call in ("commit", "auto"):
            yield _group(Client.LIBRDKAFKA, call, ends=ends, first=CommitEpoch.RECORD)


def _each_call(first: CommitEpoch, *, read: str = AFTER) -> Iterator[GroupPlan]:
    """A group for each call of each client, and for each end of librdkafka's."""
    for call in CALLS:
        for ends in (CLOSED, KILLED):
            yield _group(Client.LIBRDKAFKA, call, ends=ends, first=first, read=read)
    for client in (Client.KAFKA_PYTHON, Client.JAVA):
        for call in CALLS:
            if call not in OF_LIBRDKAFKA_ALONE:
                yield _group(client, call, ends=CLOSED, first=first, read=read)


def _group(
    client: Client, call: str, *, ends: str, first: CommitEpoch, read: str = AFTER
) -> GroupPlan:
    """One group; metadata is old at once, so that the next request brings it, without a poll."""
    style, manner = CALLS[call]
    is_before = read == BEFORE
    return GroupPlan(
        group=f"{client}.{call}.{ends}.{first}{'.before' if is_before else ''}",
        client=client,
        topic="orders",
        commit_epoch=style,
        manner=manner,
        reset=ResetPolicy.EARLIEST,
        labels={"call": call, "ends": ends, "first": first, "read": read},
        members=2,
        settings=SETTINGS.get(client, {}),
        others={
            1: MemberPlan(
                client=Client.JAVA,
                commit_epoch=first,
                manner=Manner.SYNC,
                settings={
                    "max.poll.records": 50,
                    **({"metadata.max.age.ms": 100} if is_before else {}),
                },
            )
        },
    )


GROUPS = {hazard: tuple(_groups(hazard)) for hazard in FIRST_STYLE}


def _groups_that_withhold(hazard: str) -> list[GroupPlan]:
    """The groups of which librdkafka leaves a position out of a commit, if Java's has epoch 1."""
    return [
        group
        for group in GROUPS[hazard]
        if group.client == Client.LIBRDKAFKA
        and (hazard == BY_CLIENT or group.labels["first"] != CommitEpoch.RECORD)
        and group.labels["call"] in ("commit", "stored", "auto")
    ]


def _skipping(hazard: str) -> list[GroupPlan]:
    """Those of them that skip records: a close stores what auto-commit left out."""
    return [
        group
        for group in _groups_that_withhold(hazard)
        if hazard == TRUNCATION and (group.labels["call"], group.labels["ends"]) != ("auto", CLOSED)
    ]


def _expectations(hazard: str) -> list[Expectation]:
    """What must be found; kafka-python commits no epoch where it was delivered nothing."""
    python = [
        group
        for group in GROUPS[hazard]
        if group.client == Client.KAFKA_PYTHON and group.labels["call"] != "offsets"
    ]
    found = {
        Check.WITHHELD_COMMIT: _groups_that_withhold(hazard),
        Check.SKIPPED_RECORD: _skipping(hazard),
        Check.COMMITTED_EPOCH_MISSING: [] if hazard == TRUNCATION else python,
    }
    return [
        Expectation(
            check=check,
            groups=[group.group for group in groups],
            is_optional=hazard == BY_CLIENT and check == Check.WITHHELD_COMMIT,
        )
        for check, groups in found.items()
        if groups
    ]


class MixedLanguagesScenario(Scenario):
    """One election for all groups of a hazard: a story."""

    topology = Topology(brokers=3, combined=(3,))
    groups = GROUPS[NEWER_EPOCH]
    spares: ClassVar = {Client.LIBRDKAFKA: max(READINGS.values())}
    must_judge = (
        Check.WITHHELD_COMMIT,
        Check.SKIPPED_RECORD,
        Check.COMMIT_MISMATCH,
        Check.FAULT_LANDED,
        Check.HISTORY_COMPLETE,
    )
    answer = (
        "{{ yes_if_any(withheld_commit.groups(verdict='violation'), asked='stop a member') }}: in "
        "{{ withheld_commit.groups(verdict='violation') | noun('group') }} ("
        "{{ withheld_commit.client(verdict='violation') }}) "
        "{{ withheld_commit.rows(verdict='violation') | noun('commit') }} stored nothing; "
        "{{ skipped_record.records | noun('record') }} were skipped by "
        "{{ skipped_record.groups | noun('group') }}."
    )
    follows = Consequence(
        sentence=(
            "Who commits epochs above those of the records, or offsets without epochs, in a group "
            "that librdkafka joins later, should expect that its commit() without arguments stores "
            "nothing until it has read a record of that epoch, or is past that offset ("
            "{{ withheld_commit.groups(verdict='violation') | noun('group') }} here): "
            "commit(offsets) and commit(message) store what they are given."
        ),
        document="KIP-320; librdkafka: rd_kafka_fetch_pos_cmp",
    )

    @matrix(hazard=[NEWER_EPOCH, TRUNCATION])
    def test_mixed_languages(self, hazard: str) -> None:
        groups = self.random.sample(GROUPS[hazard], len(GROUPS[hazard]))
        topic = TopicPlan(
            topic="orders",
            partitions=2,
            replication=2,
            min_insync=1,
            unclean_election=hazard == TRUNCATION,
        )
        with self.running(topics=[topic], groups=groups, expects=_expectations(hazard)) as run:
            run.create(assignment=[1, 2])
            run.phases.enter(Stage.WARM_UP, "records are written under epoch 0")
            run.produce("orders", count=WRITTEN, producer="first")
            if hazard != TRUNCATION:
                early = [group for group in groups if group.labels["read"] == BEFORE]
                readers = self.java_reads(run, early, hazard) if early else []
                run.inject(Reassign("orders", 0, replicas=[2, 1]))
                run.inject(Elect("orders", 0, unclean=False))
                for _ in range(METADATA_REQUESTS):
                    run.calls.committed(readers)
                late = [group for group in groups if group not in early]
                readers += self.java_reads(run, late, hazard)
                self.java_commits(run, groups, readers)
                self.read_on(run, groups, readings=READINGS[hazard])
                run.produce("orders", count=LATER, producer="later")
            else:
                follower = run.inject(Kill(FollowerOf("orders", 0)))
                run.await_isr("orders", 0, [1])
                run.produce("orders", count=WRITTEN, producer="lost")
                self.java_commits(run, groups, self.java_reads(run, groups, hazard))
                run.inject(Kill(LeaderOf("orders", 0)))
                follower.heal()
                run.await_leader("orders", 0, 2)
                run.await_leader("orders", 1, 2)
                run.produce("orders", count=AFTER_TRUNCATION, producer="after")
                self.read_on(run, groups, readings=READINGS[hazard])
                run.produce("orders", count=APPENDED, producer="appended")
            self.read_on(run, groups, readings=1, first=READINGS[hazard] + 1, are_closed=True)
            run.settle()

    def java_reads(self, run: Run, groups: list[GroupPlan], hazard: str) -> list[str]:
        """Let the first members read some records of orders-0."""
        run.phases.enter(Stage.HELD, f"Java reads {READ_FIRST[hazard]} records")
        members = run.open(groups, incarnation=1, number=1, is_subscribed=False)
        run.calls.assign(members)
        run.calls.take(members, READ_FIRST[hazard])
        return members

    def java_commits(self, run: Run, groups: list[GroupPlan], members: list[str]) -> None:
        """Let the first members commit, and close them."""
        run.phases.enter(Stage.HELD, "Java commits")
        run.commit(groups, incarnation=1, number=1)
        run.close(members)

    def read_on(
        self,
        run: Run,
        groups: list[GroupPlan],
        *,
        readings: int,
        first: int = 1,
        are_closed: bool = False,
    ) -> None:
        """Let the second members read to the log end, commit and end, a number of times."""
        for reading in range(first, first + readings):
            run.phases.enter(Stage.HELD, f"reading {reading} of the second members")
            run.produce("orders", count=CONTROL, producer=f"control-{reading}", partition=1)
            incarnation = reading + 1
            members = run.open(groups, incarnation=incarnation, number=2)
            run.consume(members)
            run.commit(groups, incarnation=incarnation, number=2)
            self.await_control(run, groups)
            # librdkafka hands its log over in a poll.
            run.consume(members)
            run.calls.committed(members)
            killed = [] if are_closed else [member for member in members if f".{KILLED}." in member]
            run.close([member for member in members if member not in killed])
            if killed:
                self.kill_librdkafka(run, groups)

    def await_control(self, run: Run, groups: list[GroupPlan]) -> None:
        """Wait until librdkafka's auto-commit has stored the log end of orders-1."""
        (end,) = [
            at for partition, at in run.log_ends(run.plan.topics[0]).items() if partition == 1
        ]
        for group in groups:
            if group.client == Client.LIBRDKAFKA and group.manner == Manner.AUTO:
                run.groups.await_committed_above(group.group, {"orders-1": end - 1})

    def kill_librdkafka(self, run: Run, groups: list[GroupPlan]) -> None:
        """Kill the process of all open members of librdkafka, and start another."""
        (group, *_) = [other for other in groups if other.client == Client.LIBRDKAFKA]
        worker = run.consumers.workers_of(group)[1]
        run.inject(KillClient(worker.worker))
        run.consumers.replace(worker, bootstrap=run.kafka.bootstrap, kafka=run.kafka.version)
