"""Every check by its name, with the tables that it can't do without."""

from analysis.checks import delivery, epochs, evidence, resets
from analysis.checks.base import CheckDefinition
from harness.contract.checks import Check

_COMMITS = ("committed_offsets", "polls", "leaderships")

CHECKS: dict[Check, CheckDefinition] = {
    Check.LOST_RECORD: CheckDefinition(
        delivery.lost_record, ("sends", "replica_records", "epoch_checkpoints", "leaderships")
    ),
    Check.SKIPPED_RECORD: CheckDefinition(
        delivery.skipped_record, ("polls", "group_events", "replica_records", "committed_offsets")
    ),
    Check.DUPLICATE_DELIVERY: CheckDefinition(delivery.duplicate_delivery, ("polls",)),
    Check.PHANTOM_RECORD: CheckDefinition(delivery.phantom_record, ("polls", "sends")),
    Check.CORRUPTED_RECORD: CheckDefinition(delivery.corrupted_record, ("polls",)),
    Check.COMMITTED_EPOCH_MISSING: CheckDefinition(epochs.committed_epoch_missing, _COMMITS),
    Check.COMMITTED_EPOCH_STALE: CheckDefinition(epochs.committed_epoch_stale, _COMMITS),
    Check.COMMITTED_EPOCH_BEHIND_LEADER: CheckDefinition(
        epochs.committed_epoch_behind_leader, _COMMITS
    ),
    Check.COMMITTED_EPOCH_AHEAD: CheckDefinition(epochs.committed_epoch_ahead, _COMMITS),
    Check.TRUNCATION_UNDETECTED: CheckDefinition(
        resets.truncation_undetected, ("polls", "group_events", "replica_records")
    ),
    Check.RESET: CheckDefinition(resets.reset, ("group_events", "resets")),
    Check.UNJUSTIFIED_RESET: CheckDefinition(
        resets.unjustified_reset, ("group_events", "resets", "log_starts", "epoch_checkpoints")
    ),
    Check.FAULT_LANDED: CheckDefinition(evidence.fault_landed, ("faults",)),
    Check.HISTORY_COMPLETE: CheckDefinition(evidence.history_complete, ("histories",)),
}
"""`Check.RESUMPTION` is not among them: it judges nothing, and counts the rows of resumption."""
