"""A row of the arbiter: a group of the released client that lost nothing to a truncation."""

from contract.outcomes import CommitEpoch, Manner, ResetPolicy
from studies.arbiter.rows import RELEASED, Row

LOST = Row(
    story="one",
    kafka="4.3.1",
    build=RELEASED,
    hazard="truncated/above",
    style=CommitEpoch.RECORD,
    manner=Manner.SYNC,
    client="java",
    reset=ResetPolicy.EARLIEST,
    committed_epoch=1,
    resumed_at=100,
    redelivered=0,
    never_delivered=0,
    exception=None,
)
