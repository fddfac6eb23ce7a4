"""Histories about truncations that were none, or went too far."""

from tests.exam.history import NONE, NOT_VIOLATION, VIOLATION, History, asks
from tests.exam.scenes import failed_over, started, torn, written


@asks(
    "A follower truncates to 80 though its log parts from the leader's at 100.",
    source="KIP-101: truncate to the end of the largest common epoch",
    expects={"over_truncation": VIOLATION, "log_divergence": NONE},
)
def truncated_too_far(h: History) -> None:
    torn(h)
    h.rows["truncations"][-1]["to_offset"] = 80


@asks(
    "A consumer tells of a truncation after a clean election that kept every record.",
    source="KIP-320: truncation is where the requested epoch ends below the position",
    expects={
        "false_truncation": VIOLATION,
        "unjustified_reset": VIOLATION,
        "truncation_detected": NOT_VIOLATION,
        "lost_record": NONE,
    },
)
def truncation_reported_on_an_intact_branch(h: History) -> None:
    false_notice(h)


@asks(
    "The same, and retention passes the place later.",
    source="KIP-320: truncation is where the requested epoch ends below the position; decision "
    "15: judged by the log of that time",
    expects={"false_truncation": VIOLATION, "unjustified_reset": VIOLATION},
)
def false_truncation_hidden_by_retention(h: History) -> None:
    false_notice(h, later=220)


def false_notice(h: History, *, later: int = 0) -> None:
    """Broker 2 leads from 23 s with all 200 records; at 30 s the group is set back to 150."""
    written(h, 200, deletes=bool(later))
    h.group()
    started(h, 0, at=8, fresh=True)
    h.polled(0, 199, at=9)
    h.changed("caught_up", at=10, position=200)
    h.commit(200, 0, at=11)
    failed_over(h, at=20, start=200)
    h.reset("truncation", 200, 150, at=30, epoch=0, member="1")
    h.polled(150, 199, at=31)
    h.changed("caught_up", at=32, position=200)
    h.commit(200, 0, at=33)
    h.sent(200, 299, at=35)
    h.sampled(2, at=36, end=300, epoch=1, isr=[2])
    h.polled(200, 299, at=37, epoch=1)
    h.commit(300, 1, at=38)
    h.changed("closed", at=39)
    h.log(1, (0, 199, 0), high_watermark=200)
    if later:
        h.log_started(2, later, at=60, reason="segment deletion")
        h.sampled(2, at=65, end=300, start=later, epoch=1, isr=[2])
        h.log(2, (later, 299, 1), start=later, high_watermark=300)
    else:
        h.log(2, (0, 199, 0), (200, 299, 1), high_watermark=300)
