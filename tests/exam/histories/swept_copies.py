"""Groups that copy in transactions, each record processed by one of them or by several."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from tests.exam.commit_verbs import COMMIT
from tests.exam.history import PERMITTED, VIOLATION, History, asks
from tests.exam.logs import MICROSECOND, in_each_place
from tests.exam.transaction_verbs import began_transaction, step, stored_in_transaction

LAST = 9
AGAIN = (30.0, 40.0, 50.0)
"""When the transactions of a group read."""
ORDERED = 36.0
"""When an administrator sets the offset back."""
OFFSETS = "__consumer_offsets"
Way = tuple[str, str | None, str, bool]
"""The outcome of what sends the offsets, the marker, what ends it, and whether it has output."""
PROCESSED: Way = ("ok", "commit", "committed", True)
WITHOUT_OUTPUT: Way = ("ok", "commit", "committed", False)
ABORTED: Way = ("ok", "commit", "aborted", True)
REFUSED: Way = ("failed", "commit", "committed", True)
WAYS = (
    PROCESSED,
    PROCESSED,
    WITHOUT_OUTPUT,
    ABORTED,
    REFUSED,
    ("ok", "abort", "committed", True),
    ("ok", None, "committed", True),
    ("lost", "commit", "committed", True),
)


@dataclass
class _Copy:
    """A member reads from `first` to `LAST`, and a transaction sends an offset."""

    h: History
    place: dict[str, Any]
    number: int
    turn: int
    first: int
    sent: int
    way: Way

    @property
    def of(self) -> dict[str, Any]:
        """The producer: the third transaction is the second one's next."""
        pid = 2 * self.number + min(self.turn, 1) + 1
        return {"producer": f"p{pid}", "transactional_id": f"x{pid}", "pid": pid}

    @property
    def middle(self) -> int:
        """The last record that is read at first; some send an offset before they read on."""
        return LAST if self.number % 7 else LAST - 2

    @property
    def worker(self) -> str:
        return self.h.own("v" if self.turn and self.number % 3 else "w")

    @property
    def read(self) -> dict[int, float]:
        """When each record was read that the transaction processed."""
        return {
            offset: AGAIN[self.turn] + (0.5 if offset > self.middle else 0)
            for offset in range(self.first, self.sent)
        }

    def reads(self) -> None:
        self._polls(self.first, self.middle, AGAIN[self.turn])

    def sends(self) -> None:
        h, at = self.h, AGAIN[self.turn]
        outcome, marker, ended, has_output = self.way
        answer = {"outcome": "failed", "error": "E"} if outcome == "failed" else {}
        transaction = max(self.turn - 1, 0)
        rows = len(h.rows["transactions"])
        of = {"transaction": transaction, **self.of}
        if transaction:
            step(h, "begin", "begun", at=at - 0.8, **of)
        else:
            began_transaction(h, at=at - 1, **self.of)
        if self.middle < LAST:
            step(h, "send_offsets", "offsets_sent", at=at + 0.4, **of, **answer)
            self._polls(self.middle + 1, LAST, at + 0.5)
        for partition in (0, 1) if has_output else ():
            written = {"producer": of["producer"], "transaction": transaction}
            h.sent(of["pid"], at=at + 1, topic="out", partition=partition, **written)
        stored_in_transaction(
            h,
            self.sent,
            0,
            at=at + 1,
            marker=marker,
            pid=of["pid"],
            offsets_partition=h.index + self.number % 2,
            **self.place,
        )
        if outcome == "lost":
            h.rows["committed_offsets"][-1]["brokers"] = [h.broker(3)]
        step(h, "send_offsets", "offsets_sent", at=at + 1.1, **of, **answer)
        step(h, "commit" if ended == "committed" else "abort", ended, at=at + 2, **of)
        for row in h.rows["transactions"][rows:]:
            row["worker"] = self.worker

    def _polls(self, first: int, last: int, at: float) -> None:
        rows = len(self.h.rows["polls"])
        self.h.polled(first, last, at=at, member=str(self.turn + 1), **self.place)
        for row in self.h.rows["polls"][rows:]:
            row["worker"] = self.worker


@asks(
    "Up to three transactions of a group send each offset, with each marker and outcome, and each "
    "begins at each offset, led back at each moment or not at all.",
    source="KIP-98, sendOffsetsToTransaction: what a transaction read is processed once it is "
    "committed",
    expects={"repeated_output": VIOLATION},
)
def transactions_process_records_again(h: History) -> None:
    h.topic("out", partitions=2)
    for partition in (h.index, h.index + 1):
        h.led(1, 0, at=0.5, isr=(1, 2), replicas=(1, 2, 3), topic=OFFSETS, partition=partition)
    turns: list[list[_Copy]] = [[], [], []]
    led: dict[int, list[tuple[float, int]]] = defaultdict(list)
    places: list[dict[str, Any]] = []
    for number, (place, first, second, sent, resumes, ended, at, to) in enumerate(
        in_each_place(
            h,
            WAYS,
            (PROCESSED, PROCESSED, WITHOUT_OUTPUT, ABORTED, REFUSED),
            (5, LAST, LAST + 1),
            (0, 4, 5),
            (LAST, LAST + 1),
            (None, AGAIN[0] - MICROSECOND, AGAIN[0], AGAIN[1], AGAIN[1] + MICROSECOND, 35.0),
            (0, 3, 4),
        )
    ):
        places.append(place)
        turns[0].append(_Copy(h, place, number, 0, 0, sent, first))
        turns[1].append(_Copy(h, place, number, 1, resumes, ended, second))
        if number % 5 in (2, 4):
            turns[2].append(_Copy(h, place, number, 2, 3, LAST, PROCESSED))
        if at is not None:
            h.reset("out_of_range", LAST + 1, to, at=at, **place)
            led[number].append((at, to))
        if number % 4 == 0:
            _set_back(h, place, 2)
            led[number].append((ORDERED, 2))
    for copies in turns:
        for copy in copies:
            copy.reads()
        for copy in reversed(copies):
            copy.sends()
    for number, offset, times in _processed_again(copy for copies in turns for copy in copies):
        is_led = any(min(times) <= at <= max(times) and to <= offset for at, to in led[number])
        h.finds("repeated_output", PERMITTED if is_led else VIOLATION, **places[number])


def _processed_again(copies: Iterable[_Copy]) -> Iterator[tuple[int, int, list[float]]]:
    """The place and offset of each record that several transactions processed, and when."""
    processed: dict[tuple[int, int], list[float]] = defaultdict(list)
    for copy in copies:
        for offset, at in copy.read.items() if copy.way == PROCESSED else ():
            processed[copy.number, offset].append(at)
    for (number, offset), times in processed.items():
        if len(times) > 1:
            yield number, offset, times


def _set_back(h: History, place: dict[str, Any], offset: int) -> None:
    h.called(
        1,
        COMMIT,
        8,
        at=ORDERED,
        error=0,
        topic=place["topic"],
        partition=place["partition"],
        group=h.own(place["group"]),
        member="",
        generation=-1,
        asked_offset=offset,
        asked_epoch=-1,
        metadata="",
        throttle_ms=0,
    )
    h.stored(offset, -1, at=ORDERED - 0.002, brokers=(1, 2), **place)
