"""A hunt: rounds drawn from the run's seed, on a real cluster; every wait is for a state."""

import enum
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from random import Random

from contract.run_folder import GroupPlan, TopicPlan
from contract.terms import Stage
from harness.clients.observer_worker import ObserverRole
from harness.clients.process import WorkerService
from harness.clients.views import PartitionState
from harness.faults import Broker, Elect, HeldFault, Kill, KillClient, PauseClient, Rebalance, Stop
from harness.story.consumers import members_of
from harness.story.run import Run
from harness.story.workload import writer

_ASSIGNED_SECONDS = 20
_READ_SECONDS = 100
_PATIENCE_SECONDS = 150
"""Many times what a group needs: a hunt of an hour is not to end by a busy machine."""


class Move(enum.StrEnum):
    """A step of a round.

    leave: members leave their groups, or an extra one joins and leaves; return: they are back.
    down: a broker ends; up: it is back. elect: partitions get other leaders, which are in sync.
    delete: records that all groups have committed are deleted. write: the producer writes again.
    wait: until the groups are stable.
    """

    LEAVE = "leave"
    RETURN = "return"
    DOWN = "down"
    UP = "up"
    ELECT = "elect"
    DELETE = "delete"
    WRITE = "write"
    WAIT = "wait"


class Departure(enum.StrEnum):
    """How members leave.

    close: they are closed. pause: their process is suspended until their sessions have expired.
    kill: it is killed, and another one takes its place. extra: an extra member joins and leaves.
    """

    CLOSE = "close"
    PAUSE = "pause"
    KILL = "kill"
    EXTRA = "extra"


class End(enum.StrEnum):
    """How a broker ends: by a controlled shutdown, by SIGKILL, or not at all."""

    NONE = "none"
    STOP = "stop"
    KILL = "kill"


@dataclass(frozen=True, kw_only=True)
class Shape:
    """What a hunt can act on.

    brokers: those that may end. groups: by number. workers: those with members only.
    """

    brokers: Sequence[int]
    groups: int
    members: int
    workers: Sequence[int]
    partitions: int


@dataclass(frozen=True, kw_only=True)
class Round:
    """One round.

    is_quiet: all groups have committed all records when it begins, and nothing is written before
        `write`.
    members: numbers of those that are closed.
    worker: that is paused or killed.
    groups: that the extra member joins.
    elected: partitions with another leader after each `elect`.
    kept: how many records before the groups' commits a deletion leaves.
    """

    moves: tuple[Move, ...]
    is_quiet: bool
    end: End
    broker: int
    departure: Departure
    members: tuple[int, ...]
    worker: int
    groups: tuple[int, ...]
    elected: tuple[tuple[int, ...], ...]
    kept: tuple[int, ...]


KEPT = (0, 0, 0, 1, 10, 100)
"""How many records a deletion leaves before the commits; most often none."""
_CLOSED_MAX, _JOINED, _ELECTED_MAX = 3, 2, 6
_DEPARTURES = (Departure.CLOSE,) * 3 + (Departure.PAUSE, Departure.KILL, Departure.EXTRA)
_ENDS = (End.NONE,) * 2 + (End.STOP, End.STOP, End.KILL)


def rounds(random: Random, shape: Shape) -> Iterator[Round]:
    """Yield rounds without an end; the same generator gives the same rounds."""
    while True:
        yield _round(random, shape)


def _round(random: Random, shape: Shape) -> Round:
    is_quiet = random.random() < 1 / 2
    elections, deletions = random.randint(1, 2), random.randint(1, 3)
    moves = _in_order(
        random,
        [
            Move.LEAVE,
            Move.RETURN,
            Move.DOWN,
            Move.UP,
            *(Move.ELECT,) * elections,
            *(Move.DELETE,) * deletions,
            *(Move.WAIT,) * random.randint(0, 2),
            *(Move.WRITE,) * is_quiet,
        ],
    )
    return Round(
        moves=moves,
        is_quiet=is_quiet,
        end=random.choice(_ENDS),
        broker=random.choice(shape.brokers),
        departure=random.choice(_DEPARTURES),
        members=_sample(random, range(1, shape.members + 1), _CLOSED_MAX),
        worker=random.choice(shape.workers),
        groups=tuple(sorted(random.sample(range(shape.groups), min(_JOINED, shape.groups)))),
        elected=tuple(
            _sample(random, range(shape.partitions), _ELECTED_MAX) for _ in range(elections)
        ),
        kept=tuple(random.choice(KEPT) for _ in range(deletions)),
    )


def _in_order(random: Random, moves: list[Move]) -> tuple[Move, ...]:
    """Return moves in a random order, in which members and brokers return after they left."""
    random.shuffle(moves)
    for first, then in ((Move.LEAVE, Move.RETURN), (Move.DOWN, Move.UP)):
        places = sorted((moves.index(first), moves.index(then)))
        moves[places[0]], moves[places[1]] = first, then
    return tuple(moves)


def _sample(random: Random, of: Sequence[int], at_most: int) -> tuple[int, ...]:
    number = random.randint(1, min(at_most, len(of)))
    return tuple(sorted(random.sample(of, number)))


class Hunt:
    """Members of groups that come and go while leaders change and records are deleted.

    Attributes:
        carried_out: how many rounds have ended.
    """

    def __init__(
        self, run: Run, topic: TopicPlan, groups: Sequence[GroupPlan], *, records_per_second: int
    ) -> None:
        """The groups have equal numbers of members, and as many workers."""
        self._run = run
        self._topic = topic
        self._groups = groups
        self._rate = records_per_second
        self._writers = (f"writer-{number}" for number in count(1))
        self._writer: str | None = None
        self._incarnations = dict.fromkeys(range(1, groups[0].members + 1), 1)
        self._away: set[int] = set()
        self._broker: HeldFault | None = None
        self._paused: HeldFault | None = None
        self.carried_out = 0

    def shape(self, *, brokers: Sequence[int]) -> Shape:
        """Return what rounds can act on. The first worker writes, so that it stays."""
        group = self._groups[0]
        return Shape(
            brokers=brokers,
            groups=len(self._groups),
            members=group.members,
            workers=range(1, len(set(self._run.consumers.workers_of(group)))),
            partitions=self._topic.partitions,
        )

    def begin(self, *, acknowledged: int) -> None:
        """Let clients write and read, until all groups have committed in all partitions."""
        self._run.phases.enter(Stage.WARM_UP, "clients begin to write and to read")
        self._write()
        self._open(list(self._incarnations))
        self._await_members()
        self._await_written(acknowledged)
        names = [f"{self._topic.topic}-{number}" for number in range(self._topic.partitions)]
        for group in self._groups:
            self._await_committed(group, dict.fromkeys(names, 0))

    def hunt(
        self, random: Random, shape: Shape, *, goes_on: Callable[[int], bool], written: int
    ) -> None:
        """Carry out rounds, each followed by at least `written` records.

        `goes_on` is asked before each, with the number of those that have ended.
        """
        for turn in rounds(random, shape):
            if not goes_on(self.carried_out):
                return
            self.carry_out(turn)
            self._await_written(written)
            self.carried_out += 1

    def carry_out(self, turn: Round) -> None:
        """Carry out a round; when it ends, all members, brokers and replicas are back."""
        name = f"round {self.carried_out + 1}"
        if turn.is_quiet:
            self._run.phases.enter(Stage.STEADY, f"{name}: all groups read and commit all")
            self._fall_quiet()
        self._run.phases.enter(Stage.HELD, f"{name}: {', '.join(turn.moves)}")
        elected, kept = iter(turn.elected), iter(turn.kept)
        carry_out: dict[Move, Callable[[], None]] = {
            Move.LEAVE: lambda: self._leave(turn),
            Move.RETURN: self._return,
            Move.DOWN: lambda: self._end_broker(turn),
            Move.UP: self._start_broker,
            Move.ELECT: lambda: self._elect(next(elected)),
            Move.DELETE: lambda: self._delete(next(kept)),
            Move.WRITE: self._write,
            Move.WAIT: self._await_members,
        }
        for move in turn.moves:
            carry_out[move]()
        self._run.phases.enter(Stage.HEALED, f"{name}: replicas and members are back")
        self._run.await_in_sync()
        self._await_members()

    def end(self) -> None:
        """Let all members read to the log ends, and close them."""
        self._run.settle()
        self._run.phases.enter(Stage.FINAL_READ, "groups read to the log ends")
        self._run.workload.end()
        members = self._names(list(self._incarnations))
        self._run.consume(members, timeout_seconds=_READ_SECONDS)
        self._run.close(members)

    def _write(self) -> None:
        self._writer = next(self._writers)
        producer = writer(self._writer, self._topic.topic)
        self._run.workload.start_producer(producer, records_per_second=self._rate)

    def _await_written(self, records: int) -> None:
        if self._writer is not None:
            self._run.workload.await_acknowledged(
                [self._writer], records, timeout_seconds=_PATIENCE_SECONDS
            )

    def _fall_quiet(self) -> None:
        """Stop the producer, and wait until each group has committed all records."""
        if self._writer is not None:
            self._run.workload.stop_producer(self._writer)
            self._writer = None
        name = self._topic.topic
        ends = self._run.log_ends(self._topic)
        for group in self._groups:
            self._await_committed(
                group, {f"{name}-{number}": end - 1 for number, end in ends.items()}
            )

    def _await_committed(self, group: GroupPlan, above: dict[str, int]) -> None:
        self._run.groups.await_committed_above(
            group.group, above, timeout_seconds=_PATIENCE_SECONDS
        )

    def _names(self, numbers: Sequence[int]) -> list[str]:
        """Return the names of the members of all groups with these numbers."""
        return [name for number in numbers for name in self._of_number(number)]

    def _of_number(self, number: int) -> dict[str, GroupPlan]:
        return members_of(self._groups, incarnation=self._incarnations[number], number=number)

    def _open(self, numbers: Sequence[int]) -> None:
        for number in numbers:
            incarnation = self._incarnations[number]
            self._run.open(self._groups, incarnation=incarnation, number=number)
            for epoch in dict.fromkeys(group.commit_epoch for group in self._groups):
                members = self._of_number(number).items()
                own = [name for name, group in members if group.commit_epoch == epoch]
                self._run.workload.start_reading(own, commit_epoch=epoch)

    def _leave(self, turn: Round) -> None:
        worker = self._run.consumers.workers_of(self._groups[0])[turn.worker]
        departure = turn.departure
        if departure is Departure.KILL and not self._run.consumers.spares:
            departure = Departure.PAUSE
        match departure:
            case Departure.CLOSE:
                self._away = set(turn.members)
                self._run.close(self._run.workload.stop_reading(self._names(turn.members)))
            case Departure.PAUSE:
                self._paused = self._run.inject(PauseClient(worker.worker))
                self._away = self._numbers_on(worker)
            case Departure.KILL:
                self._run.inject(KillClient(worker.worker))
                self._away = self._numbers_on(worker)
                self._run.workload.forget(self._names(sorted(self._away)))
                self._run.consumers.replace(
                    worker, bootstrap=self._run.kafka.bootstrap, kafka=self._run.kafka.version
                )
            case Departure.EXTRA:
                joined = [self._groups[index] for index in turn.groups]
                for group in joined:
                    self._await_stable(group, group.members)
                with self._run.fault(*(Rebalance(group.group) for group in joined)):
                    pass

    def _return(self) -> None:
        if self._paused is not None:
            self._paused.heal()
            self._paused = None
        else:
            for number in self._away:
                self._incarnations[number] += 1
            self._open(sorted(self._away))
        self._away = set()

    def _numbers_on(self, worker: WorkerService) -> set[int]:
        hosts = self._run.consumers.workers_of(self._groups[0])
        return {number for number, host in enumerate(hosts, start=1) if host is worker}

    def _await_members(self) -> None:
        """Wait until each group is stable with the members that it has now.

        A static member that is away is still one, until its session expires: such groups are
        waited for when all members are back.
        """
        for group in self._groups:
            if not (self._away and group.is_static):
                self._await_stable(group, group.members - len(self._away))

    def _await_stable(self, group: GroupPlan, members: int) -> None:
        self._run.groups.await_members(group.group, members, timeout_seconds=_PATIENCE_SECONDS)

    def _end_broker(self, turn: Round) -> None:
        if turn.end is not End.NONE:
            target = Broker(turn.broker)
            fault = Stop(target) if turn.end is End.STOP else Kill(target)
            self._broker = self._run.inject(fault)

    def _start_broker(self) -> None:
        if self._broker is not None:
            self._broker.heal()
            self._broker = None

    def _elect(self, partitions: Sequence[int]) -> None:
        """Let the next replica in sync lead each of these partitions, as far as there is one."""
        name, observer = self._topic.topic, self._run.observer
        states, assigned = observer.partitions(name), self._assignment()
        wanted = {
            number: order
            for number in partitions
            if (order := with_next_leader(states.get(number), assigned[number]))
        }
        for number, order in wanted.items():
            observer.worker.call(ObserverRole.reassign(name, number, order))
        observer.await_that(
            lambda: all(self._assignment()[number] == order for number, order in wanted.items()),
            what=f"other preferred leaders of {name} {sorted(wanted)}",
            timeout_seconds=_ASSIGNED_SECONDS,
        )
        # A leader may have changed since, as the last effect of a broker that ended or returned.
        now = observer.partitions(name)
        due = [
            number
            for number, order in wanted.items()
            if (state := now.get(number)) and state.leader != order[0] and order[0] in state.isr
        ]
        if due:
            with self._run.fault(*(Elect(name, number, unclean=False) for number in due)):
                pass

    def _assignment(self) -> list[list[int]]:
        worker = self._run.observer.worker
        return worker.call(ObserverRole.describe_topic(self._topic.topic)).assignment

    def _delete(self, kept: int) -> None:
        """Delete what all groups have committed, except the last `kept` records before that."""
        if not self._topic.deletes:
            return
        name = self._topic.topic
        committed = [self._run.groups.committed(group.group) for group in self._groups]
        before = {
            number: floor
            for number, state in self._run.observer.partitions(name).items()
            if (floor := min(offsets.get(f"{name}-{number}", 0) for offsets in committed) - kept)
            > state.log_start_offset
            >= 0
        }
        if before:
            self._run.observer.worker.call(ObserverRole.delete_records(name, before))


def for_minutes(minutes: float) -> Callable[[int], bool]:
    """Return whether another round begins: within this time, and at least one."""
    deadline = time.monotonic() + minutes * 60
    return lambda carried_out: carried_out == 0 or time.monotonic() < deadline


def with_next_leader(state: PartitionState | None, assigned: list[int]) -> list[int] | None:
    """Return the replicas, the next one in sync after the leader first; None without one."""
    if state is None or state.leader not in assigned:
        return None
    place = assigned.index(state.leader)
    rotated = [*assigned[place + 1 :], *assigned[:place]]
    chosen = next((broker for broker in rotated if broker in state.isr), None)
    return (
        None if chosen is None else [chosen, *(broker for broker in assigned if broker != chosen)]
    )
