"""Every check by its name, with the tables that it can't do without."""

from dataclasses import replace

from analysis.checks import (
    delivery,
    epochs,
    evidence,
    isolation,
    liveness,
    markers,
    order,
    presence,
    producers,
    readers,
    replicas,
    resets,
    transactions,
)
from analysis.checks.base import CheckDefinition
from harness.contract.checks import Check

_COMMITS = CheckDefinition(
    epochs.committed_epoch_missing,
    needs=("committed_offsets", "polls", "leaderships"),
    reads=("replica_records", "group_events"),
)

CHECKS: dict[Check, CheckDefinition] = {
    Check.LOST_RECORD: CheckDefinition(
        delivery.lost_record,
        needs=("sends", "log_starts", "epoch_checkpoints", "leaderships"),
        reads=("replica_records", "polls"),
    ),
    Check.SKIPPED_RECORD: CheckDefinition(
        delivery.skipped_record,
        needs=("polls", "group_events", "log_starts"),
        reads=("replica_records", "committed_offsets", "resets"),
    ),
    Check.DUPLICATE_DELIVERY: CheckDefinition(delivery.duplicate_delivery, needs=("polls",)),
    Check.PHANTOM_RECORD: CheckDefinition(delivery.phantom_record, needs=("polls", "sends")),
    Check.CORRUPTED_RECORD: CheckDefinition(delivery.corrupted_record, needs=("polls",)),
    Check.UNSEEN_RECORD: CheckDefinition(
        presence.unseen_record, needs=("sends", "log_starts"), reads=("polls", "replica_records")
    ),
    Check.DUPLICATE_APPEND: CheckDefinition(
        presence.duplicate_append, needs=("replica_records",), reads=("replica_batches",)
    ),
    Check.RESURRECTED_RECORD: CheckDefinition(
        readers.resurrected_record, needs=("polls", "sends"), reads=("replica_records",)
    ),
    Check.EXPIRED_READ: CheckDefinition(
        presence.expired_read, needs=("polls", "samples"), reads=("group_events",)
    ),
    Check.INCONSISTENT_OFFSET: CheckDefinition(
        readers.inconsistent_offset, needs=("polls", "leaderships"), reads=("replica_records",)
    ),
    Check.NONMONOTONIC_SEND: CheckDefinition(
        order.nonmonotonic_send, needs=("sends", "log_starts"), reads=("replica_records",)
    ),
    Check.POLL_SKIP: CheckDefinition(
        order.poll_skip, needs=("polls", "group_events"), reads=("replica_records", "resets")
    ),
    Check.NONMONOTONIC_POLL: CheckDefinition(
        order.nonmonotonic_poll,
        needs=("polls", "group_events"),
        reads=("resets", "committed_offsets"),
    ),
    Check.DIVERGENT_READERS: CheckDefinition(
        readers.divergent_readers,
        needs=("polls", "group_events", "leaderships"),
        reads=("replica_records", "resets"),
    ),
    Check.STALE_READ: CheckDefinition(
        readers.stale_read, needs=("polls", "sends", "group_events"), reads=("commits",)
    ),
    Check.COMMITTED_EPOCH_MISSING: _COMMITS,
    Check.COMMITTED_EPOCH_STALE: replace(_COMMITS, judge=epochs.committed_epoch_stale),
    Check.COMMITTED_EPOCH_BEHIND_LEADER: replace(
        _COMMITS, judge=epochs.committed_epoch_behind_leader
    ),
    Check.COMMITTED_EPOCH_AHEAD: replace(_COMMITS, judge=epochs.committed_epoch_ahead),
    Check.TRUNCATION_UNDETECTED: CheckDefinition(
        resets.truncation_undetected,
        needs=("polls", "group_events", "log_starts"),
        reads=("replica_records", "resets"),
    ),
    Check.RESET: CheckDefinition(
        resets.reset, needs=("group_events",), reads=("resets", "committed_offsets")
    ),
    Check.UNJUSTIFIED_RESET: CheckDefinition(
        resets.unjustified_reset,
        needs=("group_events", "log_starts", "epoch_checkpoints"),
        reads=("resets", "committed_offsets"),
    ),
    Check.FENCED_IN_ISR: CheckDefinition(
        replicas.fenced_in_isr, needs=("leaderships", "broker_states")
    ),
    Check.SERVED_UNDER_FENCED_EPOCH: CheckDefinition(
        replicas.served_under_fenced_epoch,
        needs=("sends", "leaderships", "log_starts"),
        reads=("polls", "replica_records"),
    ),
    Check.ZOMBIE_PRODUCER_ACCEPTED: CheckDefinition(
        producers.zombie_producer_accepted,
        needs=("transactions", "log_starts"),
        reads=("sends", "replica_batches", "leaderships"),
    ),
    Check.ABORTED_READ: CheckDefinition(
        transactions.aborted_read,
        needs=("transactions", "sends", "polls"),
        reads=("replica_batches", "replica_records"),
    ),
    Check.TORN_TRANSACTION: CheckDefinition(
        transactions.torn_transaction,
        needs=("transactions", "sends", "polls", "group_events"),
        reads=("replica_batches", "replica_records"),
    ),
    Check.WRITE_CYCLE: CheckDefinition(isolation.write_cycle, needs=("transactions", "sends")),
    Check.CIRCULAR_INFORMATION: CheckDefinition(
        isolation.circular_information, needs=("transactions", "sends", "committed_offsets")
    ),
    Check.PRECOMMITTED_READ: CheckDefinition(
        isolation.precommitted_read, needs=("transactions", "sends", "polls")
    ),
    Check.HANGING_TRANSACTION: CheckDefinition(
        markers.hanging_transaction,
        needs=("transactions", "sends", "replica_records", "replica_batches"),
    ),
    Check.MISAPPLIED_MARKER: CheckDefinition(
        markers.misapplied_marker,
        needs=("transactions", "sends", "replica_batches"),
        reads=("replica_records",),
    ),
    Check.OFFSETS_WITHOUT_OUTPUT: CheckDefinition(
        markers.offsets_without_output,
        needs=("transactions", "sends", "committed_offsets", "replica_batches"),
        reads=("replica_records",),
    ),
    Check.OUTPUT_WITHOUT_OFFSETS: CheckDefinition(
        markers.output_without_offsets,
        needs=("transactions", "sends", "committed_offsets", "replica_batches"),
        reads=("replica_records",),
    ),
    Check.PRODUCE_UNAVAILABLE: CheckDefinition(
        liveness.produce_unavailable, needs=("sends", "leaderships"), reads=("faults",)
    ),
    Check.STUCK_CONSUMER: CheckDefinition(
        liveness.stuck_consumer, needs=("group_events",), reads=("faults", "log_starts")
    ),
    Check.PHASE_OVERRUN: CheckDefinition(evidence.phase_overrun, needs=("phases",)),
    Check.FAULT_LANDED: CheckDefinition(evidence.fault_landed, needs=("faults",)),
    Check.HISTORY_COMPLETE: CheckDefinition(evidence.history_complete, needs=("histories",)),
}
"""`Check.RESUMPTION` is not among them: it judges nothing, and counts the rows of resumption."""
