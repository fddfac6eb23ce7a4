"""Drawn histories, judged by checks and by an oracle that has a set and a counter.

Each partition has values that one idempotent producer sent in turn, and that were acknowledged at
offsets in some order. No replica holds those that are lost; some values are appended again.
Members read in sessions that nothing reset, and the group commits.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.engine.duckdb import Database
from analysis.statements.registry import CHECKS
from analysis.statements.trace import Trace
from contract.terms import Check
from contract.verdicts import FindingVerdict
from tests.exam.exam import trace_of
from tests.exam.history import History
from tests.exam.scenes import copies
from tests.exam.verbs import cluster, joined
from tests.exam.world import Place

What = tuple[int, int, str]
"""First and last offset, and verdict."""
Found = tuple[int, int, int, str]
"""The same in a partition."""
VIOLATION, PERMITTED = FindingVerdict.VIOLATION, FindingVerdict.PERMITTED


@dataclass(frozen=True)
class Partition:
    """What happens in a partition.

    Attributes:
        order: the number of the value that is acknowledged at each offset.
        lost: offsets that no replica holds at the end.
        again: offsets whose values are also at the log's end.
        sessions: the offsets that the member of each session is delivered, in turn.
        commits: the offsets that the group commits, in turn.
    """

    order: list[int]
    lost: set[int]
    again: list[int]
    sessions: list[list[int]]
    commits: list[int]

    def laid(self, h: History, number: int) -> None:
        """Write it as the partition of a number."""
        where = {"topic": "t", "partition": number}
        cluster(h, **where)
        values = [100 * number + value for value in self.order]
        end = len(values)
        for offset in sorted(range(end), key=values.__getitem__):
            of_send = {"sequence": values[offset], "is_idempotent": True}
            h.sent(offset, at=2 + values[offset] % 100 / 10, **of_send, **where)
        held = {offset: value for offset, value in enumerate(values) if offset not in self.lost}
        held |= {end + index: values[offset] for index, offset in enumerate(self.again)}
        spans = [(offset, offset, 0) for offset in held]
        bounds = {"end": end + len(self.again), "high_watermark": end + len(self.again)}
        copies(h, (1, 2), *spans, sequences=held, checkpoints={0: 0}, **bounds, **where)
        for session, offsets in enumerate(self.sessions):
            member, at = f"{number}-{session}", 10.0 + 10 * session
            joined(h, 0, at=at, member=member, topic="t", partitions=(number,))
            for turn, offset in enumerate(offsets):
                of_poll = {"member": member, "sequence": values[offset]}
                h.polled(offset, at=at + 1 + turn / 10, **of_poll, **where)
            h.changed("closed", at=at + 9, member=member)
        for turn, offset in enumerate(self.commits):
            h.commit(offset, 0, at=50.0 + 2 * turn, **where)


def lost(partition: Partition) -> Iterator[What]:
    """Records that were acknowledged, and that no replica holds."""
    yield from ((offset, offset, VIOLATION) for offset in partition.lost)


def appended_again(partition: Partition) -> Iterator[What]:
    """The further copies of values."""
    for offset in range(len(partition.order), len(partition.order) + len(partition.again)):
        yield offset, offset, VIOLATION


def delivered_again(partition: Partition) -> Iterator[What]:
    """Records that were delivered twice; permitted, unless a session went back over them."""
    times = Counter(offset for offsets in partition.sessions for offset in offsets)
    within = {
        offset for new, old, _ in read_out_of_order(partition) for offset in range(new, old + 1)
    }
    for offset in (offset for offset in times if times[offset] > 1):
        yield offset, offset, VIOLATION if offset in within else PERMITTED


def sent_out_of_order(partition: Partition) -> Iterator[What]:
    """Values in turn of which the later has the lower offset; the log still has the other one."""
    for before, after in pairwise(sorted(partition.order)):
        first, second = partition.order.index(before), partition.order.index(after)
        if second < first and first not in partition.lost:
            yield second, first, VIOLATION


def read_out_of_order(partition: Partition) -> Iterator[What]:
    """Deliveries of a session that do not go on."""
    for offsets in partition.sessions:
        yield from ((new, old, VIOLATION) for old, new in pairwise(offsets) if new <= old)


def committed_back(partition: Partition) -> Iterator[What]:
    """Commits below the one before."""
    yield from ((new, old, VIOLATION) for old, new in pairwise(partition.commits) if new < old)


ORACLES: dict[Check, Callable[[Partition], Iterator[What]]] = {
    Check.LOST_RECORD: lost,
    Check.DUPLICATE_APPEND: appended_again,
    Check.DUPLICATE_DELIVERY: delivered_again,
    Check.NONMONOTONIC_SEND: sent_out_of_order,
    Check.NONMONOTONIC_POLL: read_out_of_order,
    Check.COMMIT_REGRESSED: committed_back,
}


@st.composite
def partitions(draw: st.DrawFn) -> Partition:
    """Draw one of few values, in which anything may go wrong."""
    end = draw(st.integers(1, 6))
    offsets = st.integers(0, end - 1)
    lost = draw(st.sets(offsets, max_size=2))
    again = draw(st.lists(offsets, max_size=2, unique=True))
    return Partition(
        order=draw(st.just(list(range(end))) | st.permutations(range(end))),
        lost=lost,
        again=[offset for offset in again if offset not in lost],
        sessions=draw(st.lists(st.lists(offsets, max_size=6), max_size=3)),
        commits=draw(st.lists(st.integers(0, end), max_size=5)),
    )


def found(trace: Trace, check: Check) -> Counter[Found]:
    """What a check finds, of records one by one."""
    every: list[Found] = []
    for row in CHECKS[check].judge(trace).findings.collect():
        first, last = row["offset_first"], row["offset_last"]
        of_records = check in (Check.LOST_RECORD, Check.DUPLICATE_DELIVERY)
        places = zip(*[range(first, last + 1)] * 2, strict=True) if of_records else [(first, last)]
        every += [(row["partition"], *place, row["verdict"]) for place in places]
    return Counter(every)


@settings(max_examples=8)
@given(drawn=st.lists(partitions(), min_size=4, max_size=12))
def test_checks_find_what_an_oracle_does(database: Database, drawn: list[Partition]) -> None:
    h = History(Place("drawn", 0))
    h.topic("t", partitions=len(drawn))
    h.group()
    h.worker()
    for number, one in enumerate(drawn):
        one.laid(h, number)
    trace = trace_of(database.engine(), h, checks=[str(check) for check in ORACLES])
    for check, oracle in ORACLES.items():
        expected = Counter(
            (number, *what) for number, one in enumerate(drawn) for what in oracle(one)
        )
        assert found(trace, check) == expected, check
