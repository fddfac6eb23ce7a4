"""The names of the checks, each that of a function in `analysis/checks`."""

import enum


class Check(enum.StrEnum):
    """A finding that the analysis looks for."""

    LOST_RECORD = "lost_record"
    SKIPPED_RECORD = "skipped_record"
    DUPLICATE_DELIVERY = "duplicate_delivery"
    PHANTOM_RECORD = "phantom_record"
    CORRUPTED_RECORD = "corrupted_record"
    UNSEEN_RECORD = "unseen_record"
    DUPLICATE_APPEND = "duplicate_append"
    RESURRECTED_RECORD = "resurrected_record"
    OUTCOME_MISMATCH = "outcome_mismatch"
    EXPIRED_READ = "expired_read"
    INCONSISTENT_OFFSET = "inconsistent_offset"
    NONMONOTONIC_SEND = "nonmonotonic_send"
    POLL_SKIP = "poll_skip"
    NONMONOTONIC_POLL = "nonmonotonic_poll"
    DIVERGENT_READERS = "divergent_readers"
    STALE_READ = "stale_read"
    COMMIT_REGRESSED = "commit_regressed"
    COMMIT_BEYOND_PROCESSED = "commit_beyond_processed"
    COMMIT_BEYOND_LOG = "commit_beyond_log"
    COMMIT_FROM_OLD_GENERATION = "commit_from_old_generation"
    DOUBLE_OWNERSHIP = "double_ownership"
    LOST_COMMIT = "lost_commit"
    START_MISMATCH = "start_mismatch"
    COMMIT_EXPIRED = "commit_expired"
    RECORD_EPOCH_REGRESSED = "record_epoch_regressed"
    COMMIT_MISMATCH = "commit_mismatch"
    COMMITTED_EPOCH_MISSING = "committed_epoch_missing"
    COMMITTED_EPOCH_STALE = "committed_epoch_stale"
    COMMITTED_EPOCH_BEHIND_LEADER = "committed_epoch_behind_leader"
    COMMITTED_EPOCH_AHEAD = "committed_epoch_ahead"
    COMMITTED_EPOCH_EXPIRED = "committed_epoch_expired"
    COMMITTED_EPOCH_REGRESSED = "committed_epoch_regressed"
    COMMITTED_EPOCH_UNKNOWN = "committed_epoch_unknown"
    ORPHAN_COMMIT = "orphan_commit"
    TRUNCATION_DETECTED = "truncation_detected"
    TRUNCATION_UNDETECTED = "truncation_undetected"
    FALSE_TRUNCATION = "false_truncation"
    DIVERGENCE_MISMATCH = "divergence_mismatch"
    OVER_TRUNCATION = "over_truncation"
    RESET = "reset"
    UNJUSTIFIED_RESET = "unjustified_reset"
    REPROCESSING_AMPLIFICATION = "reprocessing_amplification"
    SILENT_REVALIDATION = "silent_revalidation"
    LOSS_ESTIMATE = "loss_estimate"
    FENCED_IN_ISR = "fenced_in_isr"
    SERVED_UNDER_FENCED_EPOCH = "served_under_fenced_epoch"
    LOG_DIVERGENCE = "log_divergence"
    LEADER_COMPLETENESS = "leader_completeness"
    ISR_INCOMPLETE = "isr_incomplete"
    HIGH_WATERMARK_REGRESSED = "high_watermark_regressed"
    EPOCH_REGRESSED = "epoch_regressed"
    ELIGIBLE_LEADER_REPLICAS = "eligible_leader_replicas"
    MIN_INSYNC_BREACHED = "min_insync_breached"
    EPOCH_CACHE_MISMATCH = "epoch_cache_mismatch"
    RETENTION_OVERREACH = "retention_overreach"
    METADATA_DIVERGENCE = "metadata_divergence"
    UNCLEAN_ELECTION_UNCONFIGURED = "unclean_election_unconfigured"
    FAULT_LANDED = "fault_landed"
    HISTORY_COMPLETE = "history_complete"
    HISTORY_CONSISTENT = "history_consistent"
    ZOMBIE_PRODUCER_ACCEPTED = "zombie_producer_accepted"
    ABORTED_READ = "aborted_read"
    TORN_TRANSACTION = "torn_transaction"
    WRITE_CYCLE = "write_cycle"
    CIRCULAR_INFORMATION = "circular_information"
    PRECOMMITTED_READ = "precommitted_read"
    HANGING_TRANSACTION = "hanging_transaction"
    MISAPPLIED_MARKER = "misapplied_marker"
    OFFSETS_WITHOUT_OUTPUT = "offsets_without_output"
    OUTPUT_WITHOUT_OFFSETS = "output_without_offsets"
    PRODUCE_UNAVAILABLE = "produce_unavailable"
    FETCH_UNAVAILABLE = "fetch_unavailable"
    COMMIT_UNAVAILABLE = "commit_unavailable"
    STUCK_CONSUMER = "stuck_consumer"
    STUCK_PRODUCER = "stuck_producer"
    NEVER_CAUGHT_UP = "never_caught_up"
    PHASE_OVERRUN = "phase_overrun"
    CLOCK_SKEW = "clock_skew"
    VACUOUS_CHECK = "vacuous_check"
    RESUMPTION = "resumption"


OF_DELIVERY = (
    Check.LOST_RECORD,
    Check.SKIPPED_RECORD,
    Check.DUPLICATE_DELIVERY,
    Check.PHANTOM_RECORD,
    Check.CORRUPTED_RECORD,
    Check.UNSEEN_RECORD,
    Check.DUPLICATE_APPEND,
    Check.RESURRECTED_RECORD,
    Check.OUTCOME_MISMATCH,
)
"""Checks of what became of each record, for any run that writes and reads."""

OF_COMMITS = (
    Check.COMMIT_BEYOND_PROCESSED,
    Check.COMMIT_BEYOND_LOG,
    Check.LOST_COMMIT,
    Check.COMMIT_MISMATCH,
    Check.COMMIT_EXPIRED,
    Check.RECORD_EPOCH_REGRESSED,
    Check.COMMITTED_EPOCH_STALE,
    Check.COMMITTED_EPOCH_AHEAD,
    Check.COMMITTED_EPOCH_EXPIRED,
    Check.COMMITTED_EPOCH_UNKNOWN,
    Check.ORPHAN_COMMIT,
    Check.TRUNCATION_DETECTED,
    Check.TRUNCATION_UNDETECTED,
    Check.FALSE_TRUNCATION,
    Check.RESET,
    Check.UNJUSTIFIED_RESET,
    Check.REPROCESSING_AMPLIFICATION,
    Check.HISTORY_CONSISTENT,
)
"""Checks of positions, for any run whose groups read and commit epochs."""

OF_REPEATED_COMMITS = (Check.COMMIT_REGRESSED, Check.COMMITTED_EPOCH_REGRESSED)
"""Checks that have nothing to judge unless a group commits on a partition more than once."""

OF_MEMBERS = (Check.COMMIT_FROM_OLD_GENERATION, Check.DOUBLE_OWNERSHIP, Check.START_MISMATCH)
"""Checks that have nothing to judge unless several members of a group read a partition in turn."""

OF_ELECTIONS = (Check.SILENT_REVALIDATION, Check.LOSS_ESTIMATE)
"""Checks that have nothing to judge unless leaders change, and a group reads on both sides."""

OF_ORDER = (
    Check.INCONSISTENT_OFFSET,
    Check.NONMONOTONIC_SEND,
    Check.POLL_SKIP,
    Check.NONMONOTONIC_POLL,
    Check.STALE_READ,
    Check.ZOMBIE_PRODUCER_ACCEPTED,
)
"""Checks of the order in which records are sent and read, for any run that writes and reads."""

OF_SEVERAL_READERS = frozenset({Check.DIVERGENT_READERS})
"""Checks that have nothing to judge where each topic is read by one group."""

OF_LOG_STARTS = (Check.EXPIRED_READ,)
"""Checks that have nothing to judge where no leader told its log start."""

OF_TRANSACTIONS = frozenset(
    {
        Check.ABORTED_READ,
        Check.TORN_TRANSACTION,
        Check.WRITE_CYCLE,
        Check.CIRCULAR_INFORMATION,
        Check.PRECOMMITTED_READ,
        Check.HANGING_TRANSACTION,
        Check.MISAPPLIED_MARKER,
        Check.OFFSETS_WITHOUT_OUTPUT,
        Check.OUTPUT_WITHOUT_OFFSETS,
    }
)
"""Checks that have nothing to judge where no producer is transactional."""

OF_REPLICAS = (
    Check.LOG_DIVERGENCE,
    Check.ISR_INCOMPLETE,
    Check.HIGH_WATERMARK_REGRESSED,
    Check.EPOCH_REGRESSED,
    Check.EPOCH_CACHE_MISMATCH,
    Check.RETENTION_OVERREACH,
    Check.METADATA_DIVERGENCE,
    Check.UNCLEAN_ELECTION_UNCONFIGURED,
)
"""Checks of replicas and metadata, for any run: all are observed, and leave their logs."""

OF_SOME_STORIES = frozenset(
    {
        Check.LEADER_COMPLETENESS,
        Check.ELIGIBLE_LEADER_REPLICAS,
        Check.MIN_INSYNC_BREACHED,
        Check.FETCH_UNAVAILABLE,
        Check.ZOMBIE_PRODUCER_ACCEPTED,
    }
)
"""Checks that need what not every story has.

A new leader, eligible leaders, acks=all with several in sync, many polls, several batches of one
producer.
"""

OF_LOAD = (
    *OF_DELIVERY,
    *OF_ORDER,
    *OF_LOG_STARTS,
    *OF_COMMITS,
    *OF_REPEATED_COMMITS,
    Check.STUCK_PRODUCER,
    Check.FETCH_UNAVAILABLE,
    Check.COMMIT_UNAVAILABLE,
)
"""Checks for runs in which producers write and groups read, commit and are watched all the time."""

OF_EVERY_RUN = (
    Check.PRODUCE_UNAVAILABLE,
    Check.STUCK_CONSUMER,
    Check.NEVER_CAUGHT_UP,
    Check.PHASE_OVERRUN,
    Check.CLOCK_SKEW,
    Check.VACUOUS_CHECK,
    *OF_REPLICAS,
)
"""Checks that every plan has, named by its scenario or not."""

OF_GROUPS = frozenset({Check.STUCK_CONSUMER})
"""Of these, the ones that a run without groups leaves out."""

OF_COPIES = frozenset({Check.LOG_DIVERGENCE, Check.METADATA_DIVERGENCE})
"""Of these, the ones that a run without replication leaves out."""
