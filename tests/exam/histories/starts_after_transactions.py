"""Where a member starts whose group commits in transactions."""

from tests.exam.history import NONE, PERMITTED, VIOLATION, History, asks
from tests.exam.transaction_verbs import started, step, stored_in_transaction
from tests.exam.verbs import joined, left, plain

STABLE = (
    "KIP-447: a member fetches stable offsets: those of transactions that had ended by their commit"
    " marker"
)
ABORTED = "KIP-98: offsets of an aborted transaction never take effect"


@asks(
    "A transaction stored 50, and was committed; a member that is opened later starts at 0.",
    source=STABLE,
    expects={"start_mismatch": VIOLATION},
)
def member_starts_behind_a_transaction(h: History) -> None:
    _started(h, at=0)


@asks(
    "It starts at 50.",
    source=STABLE,
    expects={"start_mismatch": NONE},
)
def member_starts_at_a_transaction(h: History) -> None:
    _started(h, at=50)


@asks(
    "It starts at 0; the transaction was committed after it had been opened.",
    source=STABLE + "; the offset may have been fetched before the transaction began",
    expects={"start_mismatch": NONE},
)
def transaction_ends_after_the_member_was_opened(h: History) -> None:
    _started(h, at=0, marked=29.7)


@asks(
    "It starts at 0; no source tells when the marker was written.",
    source="docs/results.md: marker_micros is null without a marker",
    expects={"start_mismatch": NONE},
)
def end_of_the_transaction_is_not_known(h: History) -> None:
    _started(h, at=0, marked=None)


def _started(h: History, *, at: int, marked: float | None = 10.98) -> None:
    """A transaction stores 50 at second 10; member 2 is opened at 29.5 and starts at 30."""
    h.topic()
    h.group(manner="transactional")
    plain(h, 99)
    joined(h, 0, at=3.0)
    h.polled(0, 49, at=4.0)
    started(h, at=5.0, producer="copy")
    stored_in_transaction(h, 50, 0, at=9.98, marker="commit")
    step(h, "send_offsets", "offsets_sent", at=10.0, producer="copy")
    step(h, "commit", "committed", at=11.0, producer="copy")
    h.rows["committed_offsets"][-1]["marker_micros"] = None if marked is None else h.at(marked)
    left(h, 50, at=20.0)
    joined(h, at, at=30.0, member="2", generation=3)
    h.polled(at, 99, at=32.0, member="2")
    left(h, 100, at=80.0, member="2", generation=3, caught_up=True)


@asks(
    "Offset 50 is of a committed transaction, 80 of an aborted one; the next member starts at 50.",
    source=ABORTED,
    expects={
        "start_mismatch": NONE,
        "duplicate_delivery": PERMITTED,
        "commit_regressed": NONE,
        "skipped_record": NONE,
    },
)
def member_starts_before_an_aborted_offset(h: History) -> None:
    _aborted_offsets(h, start=50)


@asks(
    "It starts at the offset of the aborted transaction.",
    source=ABORTED,
    expects={"start_mismatch": f"{VIOLATION}: ahead"},
)
def member_starts_at_an_aborted_offset(h: History) -> None:
    _aborted_offsets(h, start=80)


def _aborted_offsets(h: History, *, start: int) -> None:
    """Transactions store 50, which is committed, and 80, which is aborted; then a member starts."""
    h.topic()
    h.group(manner="transactional")
    plain(h, 99)
    joined(h, 0, at=3.0)
    h.polled(0, 49, at=4.0)
    started(h, at=5.0, producer="copy")
    of_copy = {"producer": "copy"}
    step(h, "send_offsets", "offsets_sent", at=10.0, **of_copy)
    stored_in_transaction(h, 50, 0, at=9.98, marker="commit")
    step(h, "commit", "committed", at=11.0, **of_copy)
    h.polled(50, 79, at=12.0)
    step(h, "begin", "begun", at=13.0, transaction=1, **of_copy)
    step(h, "send_offsets", "offsets_sent", at=14.0, transaction=1, **of_copy)
    stored_in_transaction(h, 80, 0, at=13.98, marker="abort")
    step(h, "abort", "aborted", at=15.0, transaction=1, **of_copy)
    for row, ended in zip(h.rows["committed_offsets"], (10.98, 14.98), strict=True):
        row["marker_micros"] = h.at(ended)
    left(h, 80, at=20.0)
    joined(h, start, at=30.0, member="2", generation=3)
    h.polled(start, 99, at=32.0, member="2")
    left(h, 100, at=80.0, member="2", generation=3, caught_up=True)
