"""The checks that exist, named as in docs/findings.md."""

import enum


class Check(enum.StrEnum):
    """A finding that the analysis looks for."""

    LOST_RECORD = "lost_record"
    SKIPPED_RECORD = "skipped_record"
    DUPLICATE_DELIVERY = "duplicate_delivery"
    PHANTOM_RECORD = "phantom_record"
    CORRUPTED_RECORD = "corrupted_record"
    COMMITTED_EPOCH_MISSING = "committed_epoch_missing"
    COMMITTED_EPOCH_STALE = "committed_epoch_stale"
    COMMITTED_EPOCH_BEHIND_LEADER = "committed_epoch_behind_leader"
    COMMITTED_EPOCH_AHEAD = "committed_epoch_ahead"
    TRUNCATION_UNDETECTED = "truncation_undetected"
    RESET = "reset"
    UNJUSTIFIED_RESET = "unjustified_reset"
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
    ZOMBIE_PRODUCER_ACCEPTED = "zombie_producer_accepted"
    ABORTED_READ = "aborted_read"
    TORN_TRANSACTION = "torn_transaction"
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
)
"""Checks of what became of each record, for any run that writes and reads."""

OF_TRANSACTIONS = frozenset(
    {Check.ZOMBIE_PRODUCER_ACCEPTED, Check.ABORTED_READ, Check.TORN_TRANSACTION}
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
    }
)
"""Checks that need a new leader, eligible leaders, acks=all with several in sync, many polls."""

OF_LOAD = (Check.STUCK_PRODUCER, Check.FETCH_UNAVAILABLE, Check.COMMIT_UNAVAILABLE)
"""Checks of who writes and reads all the time, for runs with a load in the background."""

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
