"""Is a producer refused once a newer producer epoch of its transactional.id is in force?

Cluster: 3 brokers, 1 controller; topics of 3 partitions with 3 replicas, 2 of them in sync.
Load:    three transactional producers commit a transaction and leave a second one open, all of its
         values acknowledged; one of them copies what a group reads, and sends its offsets along.
         Of each topic one group reads committed values only, another reads all.
Fault:   all three become zombies, by one of four recipes: an administrator fences them; successors
         with their transactional ids take over; their transactions time out; successors take over
         while the leader of orders-0 is dead, so that a new leader must refuse too.
         Then one zombie goes on sending and commits, one commits at once, the copier sends its
         offsets again and commits. Where nobody has taken over yet, successors do so now; they
         commit values of their own, the copier's from where its group has committed.
Expect:  nothing that a zombie sends or commits is taken; nothing of its open transaction, and all
         that successors commit, is delivered to who reads committed values. The copier's group
         gets again what the zombie copied, since its offsets were not committed. Kafka 4.4.0
         refuses to commit a transaction that timed out as one in a wrong state, not as fenced
         (INVALID_TXN_STATE, KAFKA-20785).
Source:  KIP-98, KIP-360, KIP-588, KIP-890, KIP-1319, KAFKA-20785.
"""

from itertools import product

from ducktape.mark import matrix

from cluster.kafka.topology import Topology
from contract.checks import Check
from contract.clients import Client
from contract.outcomes import CommitEpoch, Isolation, ResetPolicy
from contract.run_folder import Expectation, GroupPlan, TopicPlan
from contract.stages import Stage
from harness.faults.fault import Fault
from harness.faults.fence import ExpireTransaction, Fence, TakeOver
from harness.faults.kill import Kill
from harness.faults.targets import LeaderOf
from harness.story.run import Run
from harness.story.scenario import Scenario
from harness.story.transactions import require

COPIES, SENDS_ON, COMMITS = "copies", "sends-on", "commits"
TRANSACTIONAL_IDS = (COPIES, SENDS_ON, COMMITS)
RECORDS = 50
COPIED = 3 * 3 * RECORDS
TIMEOUT_MS = {"expired": 5_000}
LONG_MS = 60_000
TAKEOVERS = {"takeover", "leader_change"}


def group(name: str, topic: str, isolation: Isolation) -> GroupPlan:
    """A group of the Java client that begins at the beginning."""
    return GroupPlan(
        group=name,
        client=Client.JAVA,
        topic=topic,
        commit_epoch=CommitEpoch.RECORD,
        reset=ResetPolicy.EARLIEST,
        isolation=isolation,
    )


class ZombieProducerScenario(Scenario):
    """The same story for each recipe."""

    topology = Topology(
        brokers=3,
        controllers=1,
        settings={"transaction.abort.timed.out.transaction.cleanup.interval.ms": "500"},
    )
    topics = orders, copies = tuple(
        TopicPlan(topic=name, partitions=3, replication=3, min_insync=2, unclean_election=False)
        for name in ("orders", COPIES)
    )
    readers = tuple(
        group(f"{isolation}.{topic.topic}", topic.topic, isolation)
        for topic, isolation in product(topics, Isolation)
    )
    copier = group("copier", "orders", Isolation.READ_COMMITTED)
    expects = (Expectation(check=Check.DUPLICATE_DELIVERY, groups=["copier"], verdict="permitted"),)
    must_judge = (
        Check.ZOMBIE_PRODUCER_ACCEPTED,
        Check.ABORTED_READ,
        Check.TORN_TRANSACTION,
        Check.WRITE_CYCLE,
        Check.PRECOMMITTED_READ,
        Check.HANGING_TRANSACTION,
        Check.MISAPPLIED_MARKER,
        Check.OFFSETS_WITHOUT_OUTPUT,
        Check.OUTPUT_WITHOUT_OFFSETS,
        Check.UNJUSTIFIED_RESET,
        Check.FAULT_LANDED,
        Check.HISTORY_COMPLETE,
    )

    @matrix(recipe=["fence", "takeover", "expired", "leader_change"])
    def test_zombie_producer(self, recipe: str) -> None:
        groups = (*self.readers, self.copier)
        with self.running(topics=self.topics, groups=groups, expects=self.expects) as run:
            run.create(assignment=[1, 2, 3], is_spread=True)
            run.watch()
            run.workload.start_reading(run.open(self.readers, life=1))

            run.phases.enter(Stage.WARM_UP, "producers commit once, and leave a transaction open")
            timeout_ms = TIMEOUT_MS.get(recipe, LONG_MS)
            for name in TRANSACTIONAL_IDS:
                zombie = f"{name}.zombie"
                require(run.transactions.open(zombie, transactional_id=name, timeout_ms=timeout_ms))
                self.send(run, zombie)
                require(run.transactions.commit(zombie))
            self.copy(run, "zombie", life=1)
            for name in (SENDS_ON, COMMITS):
                self.send(run, f"{name}.zombie")

            if recipe == "leader_change":
                run.inject(Kill(LeaderOf("orders", 0)))
            run.inject(self.fault(run, recipe))
            if recipe in TAKEOVERS:
                self.send_as_successors(run)
            self.go_on_as_zombies(run)
            if recipe not in TAKEOVERS:
                for name in TRANSACTIONAL_IDS:
                    self.succeed(run, name)
                self.send_as_successors(run)

            run.phases.enter(Stage.HEALED, "successors commit")
            run.close(["copier#1"])
            self.copy(run, "successor", life=2)
            for name in TRANSACTIONAL_IDS:
                require(run.transactions.commit(f"{name}.successor"))
            run.settle()
            run.read_to_end(self.readers)

    def fault(self, run: Run, recipe: str) -> Fault:
        """What makes zombies of the producers."""
        match recipe:
            case "fence":
                return Fence(TRANSACTIONAL_IDS)
            case "expired":
                return ExpireTransaction(TRANSACTIONAL_IDS, timeout_ms=TIMEOUT_MS[recipe])
            case _:
                return TakeOver(TRANSACTIONAL_IDS, by=lambda name: self.succeed(run, name))

    def go_on_as_zombies(self, run: Run) -> None:
        """Let each zombie do what it would have done; none of the answers stops it."""
        run.phases.enter(Stage.HELD, "zombies go on")
        run.transactions.send(f"{SENDS_ON}.zombie", self.orders, count=RECORDS)
        run.transactions.copy(
            f"{COPIES}.zombie", member="copier#1", topic=self.copies, partition=0, records=0
        )
        for name in TRANSACTIONAL_IDS:
            run.transactions.commit(f"{name}.zombie")

    def succeed(self, run: Run, name: str) -> None:
        """Open another producer of a transactional.id."""
        require(run.transactions.open(f"{name}.successor", transactional_id=name))

    def send(self, run: Run, producer: str) -> None:
        """Begin a transaction and have its values acknowledged."""
        require(
            run.transactions.begin(producer),
            run.transactions.send(producer, self.orders, count=RECORDS),
        )

    def send_as_successors(self, run: Run) -> None:
        """Let successors begin transactions, and leave them open."""
        run.phases.enter(Stage.HELD, "successors send")
        for name in (SENDS_ON, COMMITS):
            self.send(run, f"{name}.successor")

    def copy(self, run: Run, role: str, *, life: int) -> None:
        """Begin a transaction that copies what the group reads from where it has committed."""
        (member,) = run.open([self.copier], life=life)
        producer = f"{COPIES}.{role}"
        require(
            run.transactions.begin(producer),
            run.transactions.copy(
                producer, member=member, topic=self.copies, partition=0, records=COPIED
            ),
        )
