"""Is a producer refused once a newer producer epoch of its transactional.id is in force?

Cluster: 3 brokers, 1 controller; topics of 3 partitions with 3 replicas, 2 of them in sync.
Load:    three transactional producers commit a transaction and leave a second one open, all of its
         values acknowledged; one of them copies the records that a group reads, and commits the
         group's offsets in its transaction.
         Each topic has one group that reads committed values only, and one that reads all.
Fault:   all three become zombies, by one of four recipes: an administrator fences them; successors
         with their transactional ids take over; their transactions time out; successors take over
         while the leader of orders-0 is dead, so that a new leader must refuse too.
         Then one zombie continues to send and commits, one commits at once, the copier sends its
         offsets again and commits. If there are no successors yet, they take over now. They commit
         values of their own; the copier's successor starts at the group's commit.
Expect:  no send or commit of a zombie is accepted. Groups that read committed values get no value
         of its open transaction, and all values that successors commit. The copier's group reads
         the zombie's copied records again, since its offsets were not committed. Kafka 4.4.0
         refuses to commit a timed-out transaction as one in a wrong state, not as fenced
         (INVALID_TXN_STATE, KAFKA-20785).
Source:  KIP-98, KIP-360, KIP-588, KIP-890, KIP-1319, KAFKA-20785.
"""

from itertools import product

from ducktape.mark import matrix
from msgspec.structs import replace

from cluster.kafka.topology import Topology
from contract.run_folder import Consequence, Expectation
from contract.terms import Check, Isolation, Stage
from harness.faults import ExpireTransaction, Fault, Fence, Kill, LeaderOf, TakeOver
from harness.story.run import Run
from harness.story.scenario import Scenario
from harness.story.topics import durable_topic
from harness.story.transactions import require
from harness.story.workload import reader

COPIES, SENDS_ON, COMMITS = "copies", "sends-on", "commits"
TRANSACTIONAL_IDS = (COPIES, SENDS_ON, COMMITS)
RECORDS = 50
COPIED = 3 * 3 * RECORDS
TIMEOUT_MS = {"expired": 5_000}
LONG_MS = 60_000
TAKEOVERS = {"takeover", "leader_change"}


class ZombieProducerScenario(Scenario):
    """The same story for each recipe."""

    topology = Topology(
        brokers=3,
        controllers=1,
        settings={"transaction.abort.timed.out.transaction.cleanup.interval.ms": "500"},
    )
    topics = orders, copies = tuple(
        durable_topic(name, partitions=3) for name in ("orders", COPIES)
    )
    readers = tuple(
        replace(reader(f"{isolation}.{topic.topic}", topic.topic), isolation=isolation)
        for topic, isolation in product(topics, Isolation)
    )
    copier = replace(reader("copier", "orders"), isolation=Isolation.READ_COMMITTED)
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
    answer = (
        "{{ yes_if_none(zombie_producer_accepted.rows(verdict='violation'), asked='Is a producer "
        "refused') }}: {{ transactions.rows(change='fenced') | noun('step') }} of old producers "
        "were fenced, {{ zombie_producer_accepted.rows(kind='refused with another error') }} "
        "refused with another error and {{ zombie_producer_accepted.rows(verdict='violation') }} "
        "accepted."
    )
    follows = Consequence(
        sentence=(
            "Close a producer that is fenced, and let consumers read committed records only: of "
            "the old producers' steps {{ transactions.rows(change='fenced') }} were fenced, and "
            "{{ zombie_producer_accepted.rows(verdict='violation') }} accepted."
        ),
        document="Javadoc of ProducerFencedException; Kafka documentation, isolation.level",
    )

    @matrix(recipe=["fence", "takeover", "expired", "leader_change"])
    def test_zombie_producer(self, recipe: str) -> None:
        groups = (*self.readers, self.copier)
        with self.running(topics=self.topics, groups=groups, expects=self.expects) as run:
            run.create(assignment=[1, 2, 3], is_spread=True)
            run.watch()
            run.workload.start_reading(run.open(self.readers, incarnation=1))

            run.phases.enter(Stage.WARM_UP, "producers commit once, and leave a transaction open")
            timeout_ms = TIMEOUT_MS.get(recipe, LONG_MS)
            for name in TRANSACTIONAL_IDS:
                zombie = f"{name}.zombie"
                require(run.transactions.open(zombie, transactional_id=name, timeout_ms=timeout_ms))
                self.send(run, zombie)
                require(run.transactions.commit(zombie))
            self.copy(run, "zombie", incarnation=1)
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
            self.copy(run, "successor", incarnation=2)
            for name in TRANSACTIONAL_IDS:
                require(run.transactions.commit(f"{name}.successor"))
            run.settle()
            run.read_to_end(self.readers)

    def fault(self, run: Run, recipe: str) -> Fault:
        """Return the fault that turns the producers into zombies."""
        match recipe:
            case "fence":
                return Fence(TRANSACTIONAL_IDS)
            case "expired":
                return ExpireTransaction(TRANSACTIONAL_IDS, timeout_ms=TIMEOUT_MS[recipe])
            case _:
                return TakeOver(TRANSACTIONAL_IDS, by=lambda name: self.succeed(run, name))

    def go_on_as_zombies(self, run: Run) -> None:
        """Let each zombie continue its steps; an error does not stop it."""
        run.phases.enter(Stage.HELD, "zombies continue")
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
        """Begin a transaction, and send values until they are acknowledged."""
        require(
            run.transactions.begin(producer),
            run.transactions.send(producer, self.orders, count=RECORDS),
        )

    def send_as_successors(self, run: Run) -> None:
        """Let successors begin transactions, and leave them open."""
        run.phases.enter(Stage.HELD, "successors send")
        for name in (SENDS_ON, COMMITS):
            self.send(run, f"{name}.successor")

    def copy(self, run: Run, role: str, *, incarnation: int) -> None:
        """Begin a transaction that copies records, from the group's committed offsets on."""
        (member,) = run.open([self.copier], incarnation=incarnation)
        producer = f"{COPIES}.{role}"
        require(
            run.transactions.begin(producer),
            run.transactions.copy(
                producer, member=member, topic=self.copies, partition=0, records=COPIED
            ),
        )
