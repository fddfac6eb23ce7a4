"""Wall clocks that are set while a run goes on: no verdict may rest on what they show."""

from contract.tables import MICROS_PER_SECOND
from tests.exam.history import NONE, NOT_VIOLATION, PERMITTED, UNDECIDED, VIOLATION, History, asks
from tests.exam.scenes import copies
from tests.exam.transaction_verbs import Batch, replicas, started, step
from tests.exam.verbs import cluster, cut, first_start, joined, left, quiet, watched

SET = 5
"""Seconds by which a clock is set."""
ORDER = "contract/events.py: the events of one worker are in the order of `seq`"
JUMP = (
    "contract/tables_of_run.py, clock_jump_micros: a wall clock against the monotonic one; what it"
    " could have changed is not decided"
)
OF_CLIENTS = {
    "sends": ("intended_micros", "answered_micros"),
    "polls": ("polled_micros",),
    "commits": ("began_micros", "committed_micros"),
    "group_events": ("at_micros",),
    "resets": ("at_micros",),
}
OF_OBSERVER = {"samples": ("asked_micros", "at_micros")}
STABLE = "KIP-98: read_committed returns no records of an open transaction"
CLOCKS = "docs/findings.md, C3 and M3: times of different nodes are compared within the clock bound"


def _set_clock(h: History, by: int, *, at: float, of: dict[str, tuple[str, ...]]) -> None:
    """Later rows of these tables show other times."""
    h.worker(clock_jump_micros=SET * MICROS_PER_SECOND)
    for table, columns in of.items():
        for row in h.rows[table]:
            if max(row[column] or 0 for column in columns) >= h.at(at):
                row.update(
                    {
                        column: row[column] + by * MICROS_PER_SECOND
                        for column in columns
                        if row[column] is not None
                    }
                )


def _observed(h: History, by: int) -> None:
    """A log grows by 10 records a second; its leader changes at second 30, the clock at 33."""
    h.topic()
    cluster(h)
    h.led(2, 1, at=30.0, isr=(1, 2), starts=300)
    for second in range(1, 60):
        broker, epoch = (1, 0) if second < 30 else (2, 1)
        h.sent(10 * second - 10, 10 * second - 1, at=second - 0.5)
        watched(h, broker, 10 * second, times=[second], epoch=epoch)
        if second >= 30:
            h.sampled(1, at=second + 0.1, end=-1, start=-1, epoch=1, leader=2, isr=(1, 2))
        else:
            h.sampled(2, at=second + 0.1, end=-1, start=-1, epoch=0, leader=1, isr=(1, 2))
    copies(h, (1, 2), (0, 299, 0), (300, 589, 1), high_watermark=590)
    _set_clock(h, by, at=33.0, of=OF_OBSERVER)


OBSERVED = {
    "high_watermark_regressed": NONE,
    "epoch_regressed": NONE,
    "retention_overreach": NONE,
    "leader_completeness": NOT_VIOLATION,
    "served_under_fenced_epoch": NOT_VIOLATION,
}


@asks(
    "The observer's clock is set back by 5 s, 3 s after an election.",
    source=JUMP,
    expects=OBSERVED,
    alone=True,
)
def observers_clock_is_set_back(h: History) -> None:
    _observed(h, -SET)


@asks(
    "The observer's clock is set forward by 5 s, 3 s after an election.",
    source=JUMP,
    expects=OBSERVED,
    alone=True,
)
def observers_clock_is_set_forward(h: History) -> None:
    _observed(h, SET)


@asks(
    "A leader's high watermark falls from 100 to 50 in 40 s; a clock was set by 5 s meanwhile.",
    source="KIP-207; a clock that was set by 5 s does not reorder what is 40 s apart",
    expects={"high_watermark_regressed": VIOLATION, "epoch_regressed": f"{VIOLATION}: reported"},
    alone=True,
)
def high_watermark_falls_beside_a_set_clock(h: History) -> None:
    h.topic()
    cluster(h)
    h.sent(0, 99, at=2.0)
    h.led(2, 1, at=15.0, isr=(1, 2), starts=100)
    watched(h, 1, 100, times=(5.0,))
    watched(h, 2, 100, times=(20.0,), epoch=1)
    watched(h, 2, 50, times=(60.0,), epoch=1)
    watched(h, 2, 50, times=(80.0,), epoch=0)
    copies(h, (1, 2), (0, 99, 0), high_watermark=100)
    _set_clock(h, -SET, at=30.0, of=OF_OBSERVER)


def _truncated(h: History, by: int, *, at: float, stale: bool = False) -> None:
    """Two groups read 0 to 99 of epoch 0, notice that 50 to 99 are gone, and one reads on."""
    h.topic(unclean_election=True)
    h.group()
    h.group("raises", reset="none")
    cut(h)
    for group in ("g", "raises"):
        joined(h, 0, at=5.0, group=group)
        h.polled(0, 99, at=13.0, group=group)
        h.commit(100, 0, at=15.0, brokers=(1, 2), group=group)
    h.reset("truncation", 100, 50, at=32.0, epoch=0, member="1")
    h.polled(50, 149, at=33.0, epoch=1, sequence=100)
    h.commit(150, 0 if stale else 1, at=34.0, brokers=(1, 2), record_epoch=1)
    h.commit(150, 0 if stale else 1, at=36.0, brokers=(1, 2), record_epoch=1)
    h.changed(
        "failed",
        at=32.1,
        position=100,
        exception="LogTruncationException",
        message="Detected log truncation",
        divergent_offset=50,
        divergent_epoch=0,
        group="raises",
    )
    left(h, 150, at=40.0)
    joined(h, 150, at=42.0, member="2", generation=2)
    h.commit(150, 1, at=43.0, brokers=(1, 2), member="2", record_epoch=1)
    left(h, 150, at=80.0, member="2", generation=2, caught_up=True)
    _set_clock(h, by, at=at, of=OF_CLIENTS)


TRUNCATED = {
    "commit_beyond_log": NOT_VIOLATION,
    "commit_beyond_processed": NOT_VIOLATION,
    "commit_mismatch": NOT_VIOLATION,
    "commit_regressed": NOT_VIOLATION,
    "committed_epoch_ahead": NOT_VIOLATION,
    "committed_epoch_missing": NOT_VIOLATION,
    "committed_epoch_stale": NOT_VIOLATION,
    "divergence_mismatch": NOT_VIOLATION,
    "false_truncation": NOT_VIOLATION,
    "lost_commit": NOT_VIOLATION,
    "record_epoch_regressed": NOT_VIOLATION,
    "skipped_record": NOT_VIOLATION,
    "start_mismatch": NOT_VIOLATION,
    "truncation_undetected": NOT_VIOLATION,
    "unjustified_reset": NOT_VIOLATION,
}


@asks(
    "The clients' clock is set back by 5 s when they have noticed a truncation.",
    source=ORDER + "; " + JUMP,
    expects=TRUNCATED,
    alone=True,
)
def clients_clock_is_set_back(h: History) -> None:
    _truncated(h, -SET, at=32.0)


@asks(
    "The clients' clock is set forward by 5 s before they read what is truncated later.",
    source=ORDER + "; " + JUMP,
    expects=TRUNCATED,
    alone=True,
)
def clients_clock_is_set_forward(h: History) -> None:
    _truncated(h, SET, at=12.0)


@asks(
    "A member commits an epoch older than that of its record; its clock is set back by 5 s.",
    source=ORDER + "; KAFKA-19902",
    expects={"committed_epoch_stale": VIOLATION},
    alone=True,
)
def stale_epoch_beside_a_set_clock(h: History) -> None:
    _truncated(h, -SET, at=32.0, stale=True)


@asks(
    "A member is told that the log ends at 100; its clock is 5 s ahead, and epoch 1 begins at 120.",
    source=JUMP + "; KIP-320: the end of the newest epoch is the log end",
    expects={"divergence_mismatch": NOT_VIOLATION, "unjustified_reset": NOT_VIOLATION},
    alone=True,
)
def epoch_begins_after_a_divergence_was_reported(h: History) -> None:
    _beyond_the_end(h, divergent=100)


@asks(
    "A member is told that the log ends at 145, which it never did; its clock is 5 s ahead.",
    source="KIP-320: the end of the newest epoch is the log end",
    expects={"divergence_mismatch": VIOLATION},
    alone=True,
)
def divergence_is_above_every_end(h: History) -> None:
    _beyond_the_end(h, divergent=145)


def _beyond_the_end(h: History, *, divergent: int) -> None:
    """Position 150 of epoch 0 lies beyond the log, which ends at 100 until second 27."""
    h.topic()
    h.group(reset="none")
    cluster(h)
    h.sent(0, 99, at=2.0)
    watched(h, 1, 100, times=(5.0, 10.0, 15.0, 20.0, 26.0))
    h.stored(150, 0, at=8.0, brokers=(1, 2))
    h.changed("opened", at=24.0)
    h.changed(
        "failed",
        at=26.5,
        position=150,
        position_epoch=0,
        exception="LogTruncationException",
        message="Detected log truncation",
        divergent_offset=divergent,
        divergent_epoch=0,
    )
    h.sent(100, 119, at=27.0)
    h.led(2, 1, at=28.0, isr=(1, 2), starts=120)
    h.sent(120, 139, at=33.0)
    watched(h, 2, 140, times=(35.0, 45.0, 85.0), epoch=1)
    copies(h, (1, 2), (0, 119, 0), (120, 139, 1), high_watermark=140)
    _set_clock(h, SET, at=26.2, of=OF_CLIENTS)


@asks(
    "A worker's wall clock jumps by 0.4 s.",
    source="contract/tables_of_run.py, clock_jump_micros; docs/findings.md: the clock bound is as "
    "large as a clock was set",
    expects={"clock_skew": PERMITTED},
    alone=True,
)
def clock_jumps_a_little(h: History) -> None:
    _clock_jumps(h, 400_000)


@asks(
    "A worker's wall clock jumps by 5 s.",
    source="contract/tables_of_run.py, clock_jump_micros; docs/findings.md: above 1 s no verdict "
    "can rest on times",
    expects={"clock_skew": UNDECIDED},
    alone=True,
)
def clock_jumps_far(h: History) -> None:
    _clock_jumps(h, 5 * MICROS_PER_SECOND)


def _clock_jumps(h: History, by: int) -> None:
    quiet(h)
    h.worker(clock_jump_micros=by)
    h.add("clocks", node="a", ahead_micros=1_000, behind_micros=-1_000, at_micros=h.at(0.5))


@asks(
    "Another worker is given values 200 ms before their commit began; the clocks are 300 ms apart.",
    source=CLOCKS,
    expects={"precommitted_read": UNDECIDED, "clock_skew": PERMITTED},
    alone=True,
)
def read_within_what_the_clocks_are_apart(h: History) -> None:
    _read_early(h, read=29.8, worker="w2")


@asks(
    "With the same clocks it is given them 3 s before.",
    source=STABLE + "; " + CLOCKS,
    expects={"precommitted_read": VIOLATION, "clock_skew": PERMITTED},
    alone=True,
)
def read_beyond_what_the_clocks_are_apart(h: History) -> None:
    _read_early(h, read=27.0, worker="w2")


@asks(
    "The worker that commits is itself given them 200 ms before; another node's clock is apart.",
    source=STABLE + "; one node has one clock, whatever others have",
    expects={"precommitted_read": VIOLATION, "clock_skew": PERMITTED},
    alone=True,
)
def read_by_the_clock_of_the_commit_itself(h: History) -> None:
    _read_early(h, read=29.8, worker="w")


def _read_early(h: History, *, read: float, worker: str) -> None:
    """A transaction's commit begins at second 30; a group is given its values at `read`."""
    h.topic()
    h.group(isolation="read_committed")
    cluster(h)
    started(h, at=5.0)
    h.sent(0, 4, at=8.0, transaction=0)
    marker = Batch(5, 5, pid=1, control="commit", at=30.02)
    replicas(h, Batch(0, 4, pid=1, base_sequence=0, at=8.0), marker)
    watched(h, 1, 0, times=(1.0,))
    watched(h, 1, 5, times=(15.0, 25.0))
    watched(h, 1, 6, times=(35.0, 55.0, 75.0, 85.0))
    first_start(h, 0, at=9.8)
    joined(h, 0, at=10.0)
    h.polled(0, 4, at=read)
    step(h, "commit", "committed", at=30.05)
    left(h, 6, at=80.0, caught_up=True)
    for table in ("resets", "group_events", "polls"):
        for row in h.rows[table]:
            row["worker"] = h.own(worker)
    for name, ahead in (("w", 2_000), ("w2", 300_000)):
        h.worker(name)
        h.clock(name, ahead_micros=ahead, behind_micros=ahead - 4_000, at=0.4)
