"""Groups that copy topic `orders` to topic `copies` in transactions of the Java client."""

from collections.abc import Callable
from functools import partial

from contract.run_folder import GroupPlan, TopicPlan
from harness.story.repeated import Repeated
from harness.story.run import Run
from harness.story.transactions import require

PER_EPOCH = 50


class Copying:
    """Steps of scenarios whose groups copy; the producer of a group is `<group>.<role>`."""

    orders: TopicPlan
    copies: TopicPlan
    check_reader: GroupPlan

    def fill(self, run: Run) -> None:
        """Write to both partitions."""
        for partition in range(self.orders.partitions):
            run.produce("orders", count=PER_EPOCH, producer=f"p{partition}", partition=partition)

    def copy(self, run: Run, group: str, role: str, *, incarnation: int) -> None:
        """Begin a transaction, and copy what was written last, with the group's offsets."""
        producer = f"{group}.{role}"
        require(
            run.transactions.begin(producer),
            run.transactions.copy(
                producer,
                member=f"{group}#{incarnation}",
                topic=self.copies,
                partition=0,
                records=PER_EPOCH * self.orders.partitions,
            ),
        )

    def send_offsets(self, run: Run, group: str, role: str) -> None:
        """Send the positions of a group's member to its transaction; an error does not stop."""
        run.transactions.copy(
            f"{group}.{role}", member=f"{group}#1", topic=self.copies, partition=0, records=0
        )

    def succeed(self, run: Run, name: str) -> None:
        """Open another producer of a transactional.id."""
        require(run.transactions.open(f"{name}.new", transactional_id=name))

    def open_producers(self, run: Run, groups: list[str]) -> None:
        """Open the first producer of each group; its transactional.id is the group's name."""
        for group in groups:
            require(run.transactions.open(f"{group}.old", transactional_id=group))

    def copy_once(
        self,
        run: Run,
        groups: list[str],
        *,
        incarnation: int,
        pending: Callable[[str], None] = lambda _group: None,
    ) -> None:
        """Write to both partitions, and let each group copy that in a transaction.

        `pending` is called with each group while its transaction is open.
        """
        self.fill(run)
        for group in groups:
            self.copy(run, group, "old", incarnation=incarnation)
            pending(group)
            require(run.transactions.commit(f"{group}.old"))

    def copying(self, run: Run, groups: list[str]) -> Repeated:
        """Let the groups copy again and again, until the end of a `with` block."""
        step = partial(self.copy_once, run, groups, incarnation=1)
        return Repeated(step, observer=run.observer, what="each group copies")

    def read(self, run: Run) -> None:
        """Read all copies."""
        run.settle()
        run.open([self.check_reader], incarnation=1)
        run.read_to_end([self.check_reader])
