"""The plays of `fencepost guest check`, each of one group, about some rules of docs/guests.md."""

import time
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

from contract.events import NO_EPOCH, make_value
from contract.run_folder import TopicPlan
from contract.software import Level
from contract.terms import Stage
from extras.conform.guest import Asked, Position, Record, Response, Rule
from extras.conform.guest_consumer import GuestRole
from extras.conform.guests.trial import Trial, broken_by
from harness.clients.observer_worker import ObserverRole
from harness.clients.process import WorkerService
from harness.story.run import Run

TOPIC, PARTITIONS = "orders", (0, 1)
ORDERS = TopicPlan(
    topic=TOPIC,
    partitions=len(PARTITIONS),
    replication=1,
    min_insync=1,
    unclean_election=False,
)
PLAYS = ("killed", "reads", "shares", "latest", "none", "automatic", "settings", "ends")
"""The names of all."""
_WRITTEN, _MORE = 1_500, 20
_POLL_MS = 500
_SLACK_MS = 3_000
"""Of a poll on a busy machine."""
_SIZE_MAX = 1_200
_READ_SECONDS = 60
_LEAVE_SECONDS = 10
_KILLED_SECONDS = 120
"""Longer than the session timeout of clients by default."""
_IDLE_POLLS = 6
_INTERVAL_SECONDS = 15
"""Longer than the interval of automatic commits by default."""
_ASK_SECONDS = 150
_EPOCH = 0
"""Of the only leader."""
_OF_LINES = (Rule.LINE, Rule.ID, Rule.FIELDS, Rule.TIME, Rule.STAYS)

Offsets = dict[int, int]
"""By partition."""


class Written:
    """The values of the topic, by partition and offset."""

    def __init__(self, run: Run) -> None:
        """Write the first ones; the topic is empty."""
        self._run = run
        self.values: dict[int, list[str]] = {partition: [] for partition in PARTITIONS}
        self.write(_WRITTEN)

    @property
    def ends(self) -> Offsets:
        """The log ends."""
        return {partition: len(of) for partition, of in self.values.items()}

    def write(self, count: int) -> None:
        """Write further ones to each partition."""
        for partition, values in self.values.items():
            producer = f"writer{partition}"
            self._run.produce(TOPIC, count=count, producer=producer, partition=partition)
            first = len(values)
            values += [make_value(producer, number) for number in range(first, first + count)]


class PlayEndedError(Exception):
    """A play can't go on; the trial has the reason."""


@dataclass
class Reader:
    """A guest: what it returned so far, and what it showed last."""

    name: str
    records: list[Record] = field(default_factory=list)
    assigned: list[int] | None = None
    positions: list[Position] | None = None
    rebalanced: set[int] = field(default_factory=set)
    error: str = ""

    @property
    def group(self) -> str:
        """Its group."""
        return self.name.partition("#")[0]

    @property
    def ends(self) -> Offsets:
        """The offsets after the last records."""
        return {record.partition: record.offset + 1 for record in self.records}

    @property
    def has_all(self) -> bool:
        """Whether it has every partition."""
        return sorted(self.assigned or ()) == list(PARTITIONS)

    def note(self, response: Response) -> None:
        """Take over a response to a poll."""
        self.error = "" if response.error is None else response.error.name
        if response.error is not None:
            return
        self.records += response.records
        self.assigned, self.positions = response.assigned, response.positions
        if response.rebalanced is True:
            self.rebalanced |= set(response.assigned or ())
        elif response.rebalanced:
            self.rebalanced |= set(response.rebalanced)


class Plays:
    """Carries out the plays with guests of one worker, and notes what comes out."""

    def __init__(
        self,
        run: Run,
        worker: WorkerService,
        trial: Trial,
        written: Written,
        *,
        prefix: str = "",
        arguments: Sequence[str] = (),
        killed_seconds: float = _KILLED_SECONDS,
    ) -> None:
        """Prepare the plays.

        Args:
            run: of the cluster.
            worker: of the guests.
            trial: what comes out.
            written: what they read.
            prefix: of the names of groups.
            arguments: of each guest, after those of its command.
            killed_seconds: in which the partitions of a killed member have to be another's.
        """
        self._run = run
        self._worker = worker
        self._trial = trial
        self._written = written
        self._prefix = prefix
        self._arguments = list(arguments)
        self._killed_seconds = killed_seconds
        self._shows_all = False
        self._commits = False
        self._commit_way = "explicit"
        self._opened: Counter[str] = Counter()
        self._is_late = False

    def carry_out(self, names: Collection[str] = PLAYS) -> None:
        """Carry out plays; one that can't go on ends, and the next begins.

        After a response that did not come in time there is no next one: each would wait as long.
        """
        plays = {
            "reads": self._reads,
            "shares": self._shares,
            "latest": self._latest,
            "none": self._none,
            "automatic": self._automatic,
            "settings": self._settings,
            "ends": self._ends,
        }
        is_killed = "killed" in names and self._play(self._is_killed)
        for name, play in plays.items():
            if name in names:
                self._play(play)
        if is_killed:
            self._play(self._follows_killed)
        if self._commits:
            self._trial.level = Level.POSITIONS if self._shows_all else Level.COMMITS

    def _play(self, play: Callable[[], None]) -> bool:
        """Carry out a play; returns whether it came to its end."""
        if self._is_late:
            return False
        self._run.phases.enter(Stage.STEADY, f"{self._prefix}{play.__name__.strip('_')}")
        try:
            play()
        except PlayEndedError:
            return False
        return True

    def _reads(self) -> None:
        """A member opens, polls, commits and closes; the next one resumes, and commits nothing."""
        first = self._open(f"{self._prefix}reading#1")
        self._read([first], sum(self._written.ends.values()))
        took = [self._poll([first])[first.name].took_ms for _ in range(_IDLE_POLLS)]
        late = f"took {max(took)} ms for a poll of timeout_ms {_POLL_MS} without records"
        self._trial.judges("wait", late if min(took) > _POLL_MS + _SLACK_MS else "")
        self._judge_records(first, dict.fromkeys(PARTITIONS, 0))
        self._judge_shown(first)
        stored = self._commit(first)
        if stored is not None:
            again = self._ask([first.name], "commit")[first.name].response
            error = None if again is None else again.error
            why = "" if error is None else f"responded with the error {error.name}"
            self._trial.judges("nothing", why)
        self._close(first)
        if self._commit_way == "automatic":
            stored = self._stored_offsets(first.group)
        self._written.write(_MORE)
        second = self._open(f"{self._prefix}reading#2")
        begins = stored or dict.fromkeys(PARTITIONS, 0)
        self._read([second], sum(self._written.ends.values()) - sum(begins.values()))
        if stored is not None:
            self._trial.judges("resumes", self._begun_apart(second, stored))
        self._judge_records(second, begins if stored is not None else self._begins(second))
        self._close(second)
        found = self._stored_offsets(second.group)
        why = f"was not asked to commit, and the coordinator has {found}, before {stored or {}}"
        if self._commit_way == "explicit":
            self._trial.judges("explicit", "" if found == (stored or {}) else why)

    def _shares(self) -> None:
        """A second member joins the group, and leaves it."""
        first = self._open(f"{self._prefix}shares#1")
        self._poll_until([first], lambda: first.has_all or (not first.assigned and first.records))
        if first.assigned is None:
            self._close(first)
            return
        second = self._open(f"{self._prefix}shares#2")
        both = [first, second]

        def is_shared() -> bool:
            have = [set(reader.assigned or ()) for reader in both]
            return all(have) and not have[0] & have[1] and have[0] | have[1] == set(PARTITIONS)

        why = ""
        if not self._poll_until(both, is_shared):
            shown = " and ".join(str(reader.assigned) for reader in both)
            why = f"two members of a group showed {shown} as assigned, {_READ_SECONDS} s after both"
        elif not set(second.assigned or ()) <= second.rebalanced:
            why = f"a second member got {second.assigned}, and rebalanced was {second.rebalanced}"
        first.rebalanced = set()
        gained = set(second.assigned or ())
        self._close(second)
        if not why and not self._poll_until([first], lambda: first.has_all):
            why = f"showed {first.assigned} as assigned after the other member had left"
        if not why and not gained <= first.rebalanced:
            why = f"got {gained} of a member that left, and rebalanced was {first.rebalanced}"
        self._trial.judges("rebalance", why)
        self._close(first)

    def _latest(self) -> None:
        """A member with the reset policy `latest` gets what is written after it has begun."""
        reader = self._open(f"{self._prefix}latest#1", feature="reset latest", reset="latest")
        self._poll_until([reader], lambda: self._has_members(reader.group))
        for _ in range(_IDLE_POLLS):
            self._poll([reader])
        ends = self._written.ends
        self._judge_at_end(reader, ends)
        self._written.write(_MORE)
        self._read([reader], len(PARTITIONS) * _MORE)
        self._trial.judges("latest", self._begun_apart(reader, ends))
        self._close(reader)

    def _none(self) -> None:
        """A member with the reset policy `none` and without a commit gets an error."""
        reader = self._open(f"{self._prefix}none#1", feature="reset none", reset="none")
        self._poll_until([reader], lambda: bool(reader.error or reader.records))
        why = "" if reader.error else f"reported no error within {_READ_SECONDS} s"
        if reader.records:
            why = f"returned offset {reader.records[0].offset} of a group without a commit"
        self._trial.judges("none", why)
        if reader.error:
            self._ask([reader.name], "poll", rule="goes on", timeout_ms=_POLL_MS)
            self._trial.keeps("goes on")
        self._close(reader)

    def _automatic(self) -> None:
        """A member that commits by itself."""
        reader = self._open(
            f"{self._prefix}automatic#1", feature="automatic commits", commit="automatic"
        )
        self._read([reader], sum(self._written.ends.values()))
        self._close(reader)
        ends = self._written.ends
        if self._stored_offsets(reader.group) != ends:
            # Its client commits at its interval only, or not what the last poll returned.
            again = self._open(f"{self._prefix}automatic#2", commit="automatic")
            self._poll_until(
                [again],
                lambda: self._stored_offsets(reader.group) == ends,
                seconds=_INTERVAL_SECONDS,
            )
            self._close(again)
        stored = self._stored_offsets(reader.group)
        self._commits |= bool(stored)
        why = f"was closed at {ends}, and the coordinator has {stored}"
        self._trial.judges("automatic", "" if stored == ends else why)

    def _settings(self) -> None:
        """A setting that no client has."""
        name = f"{self._prefix}settings#1"
        self._worker.call(GuestRole.start_guest(name, self._arguments))
        settings = {"no.such.setting": "1"}
        opened = self._ask(
            [name], "open", rule="settings", **self._opening(name, settings=settings)
        )
        response = opened[name].response
        is_refused = response is not None and response.error is not None
        self._trial.judges("settings", "" if is_refused else f"opened with {settings}")
        self._worker.call(GuestRole.kill_guest(name))

    def _ends(self) -> None:
        """Requests have fields that the guest does not know, and its input ends."""
        reader = self._open(f"{self._prefix}ends#1", rule="unknown fields", hint="to be ignored")
        self._ask([reader.name], "poll", rule="unknown fields", timeout_ms=_POLL_MS, hint=[1])
        self._trial.keeps("unknown fields")
        ended = self._worker.call(GuestRole.end_guest(reader.name), timeout_seconds=_ASK_SECONDS)
        self._trial.judges("end", ended.problem)

    def _is_killed(self) -> None:
        """A member reads, commits if it can, and is killed."""
        reader = self._open(f"{self._prefix}killed#1")
        self._read([reader], sum(self._written.ends.values()))
        self._ask([reader.name], "commit")
        self._worker.call(GuestRole.kill_guest(reader.name))

    def _follows_killed(self) -> None:
        """Once the session is over, another member of that group has its partitions."""
        reader = self._open(f"{self._prefix}killed#2")
        is_served = self._poll_until(
            [reader],
            lambda: {record.partition for record in reader.records} == set(PARTITIONS),
            seconds=self._killed_seconds,
        )
        why = (
            f"within {self._killed_seconds} s another member was served nothing of some partition: "
            "a process that the guest started may go on after it was killed"
        )
        self._trial.judges("killed", "" if is_served else why)
        self._close(reader)

    def _opening(self, name: str, **others: Any) -> dict[str, Any]:
        return {
            "bootstrap": self._run.kafka.bootstrap,
            "group": name.partition("#")[0],
            "member": name,
            "topic": TOPIC,
            "reset": "earliest",
            "isolation": "read_uncommitted",
            "commit": self._commit_way,
            "settings": {},
            **others,
        }

    def _open(self, name: str, *, feature: str = "", rule: str = "", **others: Any) -> Reader:
        """Start a guest and open its consumer; one without explicit commits gets automatic ones.

        Args:
            name: of the member.
            feature: that it may lack, so that an error is no broken rule.
            rule: that is broken if it breaks one of lines.
            others: fields of the request.

        Raises:
            PlayEndedError: it did not open.
        """
        response = self._opened_by(name, rule, others)
        if response.error is not None and not feature and self._commit_way == "explicit":
            explicit, self._commit_way = response.error, "automatic"
            self._worker.call(GuestRole.kill_guest(name))
            response = self._opened_by(name, rule, others)
            if response.error is None:
                self._trial.lacks["explicit commits"] = f"{explicit.name}: {explicit.message}"
        if (error := response.error) is not None:
            said = f"{error.name}: {error.message}"
            if feature:
                self._trial.lacks[feature] = said
            else:
                self._trial.breaks(Rule.NAMED, f"responded to open with the error {said}")
            self._worker.call(GuestRole.kill_guest(name))
            raise PlayEndedError
        self._trial.keeps(Rule.NAMED)
        self._trial.client, self._trial.version = response.client, response.version
        reader = Reader(name)
        self._opened[reader.group] += 1
        return reader

    def _opened_by(self, name: str, rule: str, others: dict[str, Any]) -> Response:
        self._worker.call(GuestRole.start_guest(name, self._arguments))
        fields = self._opening(name, **others)
        response = self._ask([name], "open", rule=rule, **fields)[name].response
        if response is None:
            raise PlayEndedError
        return response

    def _ask(
        self, names: Sequence[str], do: str, *, rule: str = "", **fields: Any
    ) -> dict[str, Asked]:
        """Send a request to guests.

        Raises:
            PlayEndedError: one broke a rule, `rule` or one of lines (`broken_by`).
        """
        asked = self._worker.call(
            GuestRole.ask_guests(list(names), do, fields), timeout_seconds=_ASK_SECONDS
        )
        for answer in asked.values():
            if answer.rule:
                self._is_late |= answer.rule == Rule.TIME
                if not self._trial.broken.keys() & set(_OF_LINES):  # Another one may be the same.
                    self._trial.breaks(broken_by(answer.rule, rule), answer.problem)
                raise PlayEndedError
        for kept in _OF_LINES:
            self._trial.keeps(kept)
        return asked

    def _poll(self, readers: Sequence[Reader]) -> dict[str, Asked]:
        """Let guests poll at the same time."""
        asked = self._ask([reader.name for reader in readers], "poll", timeout_ms=_POLL_MS)
        for reader in readers:
            response = asked[reader.name].response
            if response is not None:
                reader.note(response)
                size = len(response.records)
                why = f"returned {size} records by one poll"
                self._trial.judges("size", why if size > _SIZE_MAX else "")
        return asked

    def _poll_until(
        self,
        readers: Sequence[Reader],
        is_there: Callable[[], Any],
        *,
        seconds: float = _READ_SECONDS,
    ) -> bool:
        """Let guests poll until something is so; returns whether it came."""
        deadline = time.monotonic() + seconds
        while not is_there():
            if time.monotonic() > deadline:
                return False
            self._poll(readers)
        return True

    def _read(self, readers: Sequence[Reader], count: int) -> None:
        self._poll_until(readers, lambda: sum(len(reader.records) for reader in readers) >= count)

    def _commit(self, reader: Reader) -> Offsets | None:
        """Let a guest commit; returns what is stored, None if it can't commit."""
        response = self._ask([reader.name], "commit")[reader.name].response
        if response is None or response.unsupported:
            self._trial.lacks["commits"] = "unsupported"
            return None
        if response.error is not None:
            self._trial.breaks("commit", f"responded with the error {response.error.name}")
            raise PlayEndedError
        self._commits = True
        stored = self._stored_offsets(reader.group)
        why = f"returned records up to {reader.ends}, and the coordinator has {stored}"
        self._trial.judges("commit", "" if stored == reader.ends else why)
        if response.committed is None:
            self._trial.lacks["committed"] = "left out"
        else:
            shown = {position.partition: position.offset for position in response.committed}
            why = f"showed {shown} as committed, and the coordinator has {stored}"
            self._trial.judges("committed", "" if shown == stored else why)
        return stored

    def _close(self, reader: Reader) -> None:
        """Let a guest close its consumer and exit."""
        self._ask([reader.name], "close")
        self._trial.keeps(Rule.EXIT)
        deadline = time.monotonic() + _LEAVE_SECONDS
        self._opened[reader.group] -= 1
        while self._members(reader.group) > self._opened[reader.group]:
            if time.monotonic() > deadline:
                why = f"is a member still {_LEAVE_SECONDS} s after it had responded to close"
                self._trial.breaks("leaves", f"{reader.name} {why}")
                return
        self._trial.keeps("leaves")

    def _judge_records(self, reader: Reader, begins: Offsets) -> None:
        """Compare what a member was returned with what was written."""
        whys = []
        for partition, values in self._written.values.items():
            found = [record for record in reader.records if record.partition == partition]
            wanted = list(range(begins.get(partition, 0), len(values)))
            if [record.offset for record in found] != wanted:
                whys.append(
                    _apart(partition, [record.offset for record in found], wanted, reader.error)
                )
            whys += [
                f"returned {record.value!r} at offset {record.offset} of partition {partition}, "
                "where "
                f"{values[record.offset]!r} was written"
                for record in found
                if record.offset < len(values) and record.value != values[record.offset]
            ]
        others = {record.partition for record in reader.records} - set(PARTITIONS)
        whys += [f"returned records of partition {other}, which there is not" for other in others]
        self._trial.judges("records", whys[0] if whys else "")
        epochs = {record.epoch for record in reader.records}
        if epochs == {NO_EPOCH}:
            self._trial.lacks["epochs of records"] = "left out"
        elif epochs:
            why = f"returned records of the epochs {sorted(epochs)}; all were written in {_EPOCH}"
            self._trial.judges("epoch", "" if epochs == {_EPOCH} else why)

    def _judge_shown(self, reader: Reader) -> None:
        self._shows_all = reader.assigned is not None and reader.positions is not None
        if reader.assigned is None:
            self._trial.lacks["assigned"] = "left out"
        else:
            why = f"showed {reader.assigned}, and it is the only member of a group of {PARTITIONS}"
            self._trial.judges("assigned", "" if reader.has_all else why)
        if reader.positions is None:
            self._trial.lacks["positions"] = "left out"
        else:
            shown = {position.partition: position.offset for position in reader.positions}
            why = f"returned records up to {reader.ends}, and showed the positions {shown}"
            self._trial.judges("positions", "" if shown == reader.ends else why)

    def _judge_at_end(self, reader: Reader, ends: Offsets) -> None:
        """Compare the positions of a member that was opened at the log end."""
        if reader.positions is None or reader.records:
            return
        shown = {position.partition: position.offset for position in reader.positions}
        if missing := [partition for partition in PARTITIONS if partition not in shown]:
            self._trial.lacks["positions at the log end"] = (
                f"left out of partitions {missing} until a record comes"
            )
        wanted = {partition: ends[partition] for partition in shown if partition in ends}
        why = f"showed the positions {shown} at the log end {ends}"
        self._trial.judges("positions", "" if shown == wanted else why)

    def _begun_apart(self, reader: Reader, wanted: Offsets) -> str:
        """Return how a member began elsewhere than it should have; empty if it did not."""
        begun = self._begins(reader)
        return "" if begun == wanted else f"began at {begun}, not at {wanted}{_with(reader.error)}"

    @staticmethod
    def _begins(reader: Reader) -> Offsets:
        return {record.partition: record.offset for record in reversed(reader.records)}

    def _stored_offsets(self, group: str) -> Offsets:
        """Return what the coordinator has of a group."""
        found = self._run.groups.committed(group)
        return {int(name.rpartition("-")[2]): offset for name, offset in sorted(found.items())}

    def _members(self, group: str) -> int:
        view = self._run.observer.worker.call(ObserverRole.describe_group(group))
        return 0 if view is None else len(view.members)

    def _has_members(self, group: str) -> bool:
        view = self._run.observer.worker.call(ObserverRole.describe_group(group))
        return view is not None and view.state == "Stable" and bool(view.members)


def _apart(partition: int, found: list[int], wanted: list[int], error: str) -> str:
    """Say where a list of offsets is not as it should be."""
    for at, (offset, other) in enumerate(zip(found, wanted, strict=False)):
        if offset != other:
            before = f", after {found[at - 1]}" if at else ""
            return (
                f"returned offset {offset} of partition {partition}{before}, where {other} was next"
            )
    if len(found) > len(wanted):
        return f"returned offset {found[len(wanted)]} of partition {partition} once more"
    have = f"returned {len(found)} of {len(wanted)} records of partition {partition}"
    return f"{have} within {_READ_SECONDS} s{_with(error)}"


def _with(error: str) -> str:
    return f"; its last poll reported {error}" if error else ""
