"""Every check by its name, with the tables that it can't do without."""

from dataclasses import replace

from analysis.checks import (
    bounds,
    commits,
    completeness,
    consistency,
    delivery,
    epoch_cache,
    epochs,
    evidence,
    expiry,
    groups,
    isolation,
    liveness,
    logs,
    losses,
    markers,
    metadata,
    mismatches,
    order,
    outcomes,
    over_truncation,
    presence,
    producers,
    quorum,
    readers,
    replicas,
    reprocessing,
    resets,
    stuck,
    transactions,
    truncations,
)
from analysis.checks.base import CheckDefinition
from contract.checks import Check

_COMMITS = CheckDefinition(
    epochs.committed_epoch_missing, needs=("committed_offsets", "polls", "leaderships")
)

_STORED = replace(_COMMITS, needs=("committed_offsets", "leaderships", "epoch_checkpoints"))
_OFFSETS = CheckDefinition(commits.commit_regressed, needs=("committed_offsets", "commits"))
_STANDING = CheckDefinition(
    expiry.commit_expired, needs=("committed_offsets", "log_starts", "leaderships")
)
_MEMBERS = CheckDefinition(groups.double_ownership, needs=("group_events", "polls"))
_BRANCHES = CheckDefinition(
    truncations.truncation_detected,
    needs=("polls", "epoch_checkpoints", "log_starts", "leaderships"),
)

CHECKS: dict[Check, CheckDefinition] = {
    Check.LOST_RECORD: CheckDefinition(
        losses.lost_record, needs=("sends", "log_starts", "epoch_checkpoints", "leaderships")
    ),
    Check.SKIPPED_RECORD: CheckDefinition(
        delivery.skipped_record, needs=("polls", "group_events", "log_starts")
    ),
    Check.DUPLICATE_DELIVERY: CheckDefinition(delivery.duplicate_delivery, needs=("polls",)),
    Check.PHANTOM_RECORD: CheckDefinition(delivery.phantom_record, needs=("polls", "sends")),
    Check.CORRUPTED_RECORD: CheckDefinition(delivery.corrupted_record, needs=("polls",)),
    Check.COMMIT_REGRESSED: _OFFSETS,
    Check.COMMIT_BEYOND_PROCESSED: CheckDefinition(
        commits.commit_beyond_processed, needs=("committed_offsets",)
    ),
    Check.COMMIT_BEYOND_LOG: CheckDefinition(
        commits.commit_beyond_log,
        needs=("committed_offsets", "leaderships", "log_starts", "epoch_checkpoints", "polls"),
    ),
    Check.COMMIT_FROM_OLD_GENERATION: replace(
        _MEMBERS,
        judge=groups.commit_from_old_generation,
        needs=("group_events", "commits", "committed_offsets"),
    ),
    Check.DOUBLE_OWNERSHIP: _MEMBERS,
    Check.LOST_COMMIT: CheckDefinition(commits.lost_commit, needs=("commits",)),
    Check.COMMIT_MISMATCH: CheckDefinition(
        mismatches.commit_mismatch, needs=("commits", "committed_offsets")
    ),
    Check.START_MISMATCH: CheckDefinition(
        groups.start_mismatch, needs=("group_events", "committed_offsets", "polls")
    ),
    Check.COMMIT_EXPIRED: _STANDING,
    Check.RECORD_EPOCH_REGRESSED: CheckDefinition(epochs.record_epoch_regressed, needs=("polls",)),
    Check.UNSEEN_RECORD: CheckDefinition(presence.unseen_record, needs=("sends", "log_starts")),
    Check.DUPLICATE_APPEND: CheckDefinition(presence.duplicate_append, needs=("replica_records",)),
    Check.RESURRECTED_RECORD: CheckDefinition(readers.resurrected_record, needs=("polls", "sends")),
    Check.OUTCOME_MISMATCH: CheckDefinition(
        outcomes.outcome_mismatch, needs=("sends", "log_starts")
    ),
    Check.EXPIRED_READ: CheckDefinition(presence.expired_read, needs=("polls", "samples")),
    Check.INCONSISTENT_OFFSET: CheckDefinition(
        readers.inconsistent_offset, needs=("polls", "leaderships")
    ),
    Check.NONMONOTONIC_SEND: CheckDefinition(
        order.nonmonotonic_send, needs=("sends", "log_starts")
    ),
    Check.POLL_SKIP: CheckDefinition(order.poll_skip, needs=("polls", "group_events")),
    Check.NONMONOTONIC_POLL: CheckDefinition(
        order.nonmonotonic_poll, needs=("polls", "group_events")
    ),
    Check.DIVERGENT_READERS: CheckDefinition(
        readers.divergent_readers, needs=("polls", "group_events", "leaderships")
    ),
    Check.STALE_READ: CheckDefinition(readers.stale_read, needs=("polls", "sends", "group_events")),
    Check.COMMITTED_EPOCH_MISSING: _COMMITS,
    Check.COMMITTED_EPOCH_STALE: replace(_COMMITS, judge=epochs.committed_epoch_stale),
    Check.COMMITTED_EPOCH_BEHIND_LEADER: replace(
        _COMMITS, judge=epochs.committed_epoch_behind_leader
    ),
    Check.COMMITTED_EPOCH_AHEAD: replace(_COMMITS, judge=epochs.committed_epoch_ahead),
    Check.COMMITTED_EPOCH_EXPIRED: replace(
        _STANDING,
        judge=expiry.committed_epoch_expired,
        needs=(*_STANDING.needs, "epoch_checkpoints"),
    ),
    Check.COMMITTED_EPOCH_REGRESSED: replace(
        _STORED, judge=epochs.committed_epoch_regressed, needs=("committed_offsets",)
    ),
    Check.COMMITTED_EPOCH_UNKNOWN: replace(
        _STORED, judge=epochs.committed_epoch_unknown, needs=("committed_offsets", "leaderships")
    ),
    Check.ORPHAN_COMMIT: replace(_STORED, judge=epochs.orphan_commit),
    Check.TRUNCATION_DETECTED: _BRANCHES,
    Check.FALSE_TRUNCATION: replace(
        _BRANCHES,
        judge=truncations.false_truncation,
        needs=("group_events", "epoch_checkpoints", "log_starts"),
    ),
    Check.SILENT_REVALIDATION: replace(_BRANCHES, judge=truncations.silent_revalidation),
    Check.LOSS_ESTIMATE: CheckDefinition(
        truncations.loss_estimate, needs=("sends", "log_starts", "epoch_checkpoints", "leaderships")
    ),
    Check.DIVERGENCE_MISMATCH: CheckDefinition(
        mismatches.divergence_mismatch,
        needs=("group_events", "epoch_checkpoints", "log_starts"),
    ),
    Check.OVER_TRUNCATION: CheckDefinition(
        over_truncation.over_truncation,
        needs=("truncations", "epoch_checkpoints", "log_starts", "leaderships"),
    ),
    Check.REPROCESSING_AMPLIFICATION: CheckDefinition(
        reprocessing.reprocessing_amplification, needs=("polls",)
    ),
    Check.TRUNCATION_UNDETECTED: CheckDefinition(
        resets.truncation_undetected, needs=("polls", "group_events", "log_starts")
    ),
    Check.RESET: CheckDefinition(resets.reset, needs=("group_events",)),
    Check.UNJUSTIFIED_RESET: CheckDefinition(
        resets.unjustified_reset, needs=("group_events", "log_starts", "epoch_checkpoints")
    ),
    Check.FENCED_IN_ISR: CheckDefinition(
        replicas.fenced_in_isr, needs=("leaderships", "broker_states")
    ),
    Check.SERVED_UNDER_FENCED_EPOCH: CheckDefinition(
        replicas.served_under_fenced_epoch, needs=("sends", "leaderships", "log_starts")
    ),
    Check.LOG_DIVERGENCE: CheckDefinition(
        logs.log_divergence, needs=("replica_batches", "log_starts", "leaderships")
    ),
    Check.LEADER_COMPLETENESS: CheckDefinition(
        logs.leader_completeness, needs=("epoch_checkpoints", "leaderships", "log_starts")
    ),
    Check.ISR_INCOMPLETE: CheckDefinition(
        logs.isr_incomplete, needs=("leaderships", "samples", "log_starts")
    ),
    Check.HIGH_WATERMARK_REGRESSED: CheckDefinition(
        bounds.high_watermark_regressed, needs=("samples", "leaderships")
    ),
    Check.EPOCH_REGRESSED: CheckDefinition(
        metadata.epoch_regressed, needs=("leaderships", "replica_batches")
    ),
    Check.ELIGIBLE_LEADER_REPLICAS: CheckDefinition(
        metadata.eligible_leader_replicas, needs=("leaderships", "broker_states")
    ),
    Check.MIN_INSYNC_BREACHED: CheckDefinition(
        bounds.min_insync_breached, needs=("sends", "leaderships")
    ),
    Check.EPOCH_CACHE_MISMATCH: CheckDefinition(
        epoch_cache.epoch_cache_mismatch,
        needs=("replica_batches", "log_starts", "epoch_checkpoints"),
    ),
    Check.RETENTION_OVERREACH: CheckDefinition(
        bounds.retention_overreach, needs=("log_starts", "leaderships")
    ),
    Check.METADATA_DIVERGENCE: CheckDefinition(
        quorum.metadata_divergence, needs=("metadata_batches", "leaderships")
    ),
    Check.UNCLEAN_ELECTION_UNCONFIGURED: CheckDefinition(
        metadata.unclean_election_unconfigured, needs=("leaderships",)
    ),
    Check.ZOMBIE_PRODUCER_ACCEPTED: CheckDefinition(
        producers.zombie_producer_accepted, needs=("replica_batches", "log_starts")
    ),
    Check.ABORTED_READ: CheckDefinition(
        transactions.aborted_read, needs=("transactions", "sends", "polls")
    ),
    Check.TORN_TRANSACTION: CheckDefinition(
        transactions.torn_transaction, needs=("transactions", "sends", "polls", "group_events")
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
        markers.misapplied_marker, needs=("transactions", "sends", "replica_batches")
    ),
    Check.OFFSETS_WITHOUT_OUTPUT: CheckDefinition(
        markers.offsets_without_output,
        needs=("transactions", "sends", "committed_offsets", "replica_batches"),
    ),
    Check.OUTPUT_WITHOUT_OFFSETS: CheckDefinition(
        markers.output_without_offsets,
        needs=("transactions", "sends", "committed_offsets", "replica_batches"),
    ),
    Check.PRODUCE_UNAVAILABLE: CheckDefinition(
        liveness.produce_unavailable, needs=("sends", "leaderships")
    ),
    Check.STUCK_CONSUMER: CheckDefinition(stuck.stuck_consumer, needs=("group_events",)),
    Check.FETCH_UNAVAILABLE: CheckDefinition(
        liveness.fetch_unavailable, needs=("polls", "sends", "leaderships")
    ),
    Check.COMMIT_UNAVAILABLE: CheckDefinition(
        liveness.commit_unavailable, needs=("commits", "leaderships")
    ),
    Check.STUCK_PRODUCER: CheckDefinition(stuck.stuck_producer, needs=("sends",)),
    Check.NEVER_CAUGHT_UP: CheckDefinition(
        stuck.never_caught_up, needs=("leaderships", "broker_states")
    ),
    Check.PHASE_OVERRUN: CheckDefinition(evidence.phase_overrun, needs=("phases",)),
    Check.CLOCK_SKEW: CheckDefinition(evidence.clock_skew, needs=("clocks",)),
    Check.FAULT_LANDED: CheckDefinition(evidence.fault_landed, needs=("faults",)),
    Check.HISTORY_CONSISTENT: CheckDefinition(
        consistency.history_consistent, needs=("group_events", "log_starts")
    ),
    Check.HISTORY_COMPLETE: CheckDefinition(completeness.history_complete, needs=("histories",)),
}
"""Not among them: `Check.RESUMPTION`, which judges nothing and counts the rows of resumption, and
`Check.VACUOUS_CHECK`, which judges the others (see `analysis.vacuity`)."""
