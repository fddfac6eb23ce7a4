"""The checks that exist, named as in docs/findings.md."""

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
    EXPIRED_READ = "expired_read"
    INCONSISTENT_OFFSET = "inconsistent_offset"
    NONMONOTONIC_SEND = "nonmonotonic_send"
    POLL_SKIP = "poll_skip"
    NONMONOTONIC_POLL = "nonmonotonic_poll"
    DIVERGENT_READERS = "divergent_readers"
    STALE_READ = "stale_read"
    COMMITTED_EPOCH_MISSING = "committed_epoch_missing"
    COMMITTED_EPOCH_STALE = "committed_epoch_stale"
    COMMITTED_EPOCH_BEHIND_LEADER = "committed_epoch_behind_leader"
    COMMITTED_EPOCH_AHEAD = "committed_epoch_ahead"
    TRUNCATION_UNDETECTED = "truncation_undetected"
    RESET = "reset"
    UNJUSTIFIED_RESET = "unjustified_reset"
    FENCED_IN_ISR = "fenced_in_isr"
    SERVED_UNDER_FENCED_EPOCH = "served_under_fenced_epoch"
    FAULT_LANDED = "fault_landed"
    HISTORY_COMPLETE = "history_complete"
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
    STUCK_CONSUMER = "stuck_consumer"
    PHASE_OVERRUN = "phase_overrun"
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
)
"""Checks of what became of each record, for any run that writes and reads."""

OF_ORDER = (
    Check.INCONSISTENT_OFFSET,
    Check.NONMONOTONIC_SEND,
    Check.POLL_SKIP,
    Check.NONMONOTONIC_POLL,
    Check.STALE_READ,
)
"""Checks of the order in which records are sent and read, for any run that writes and reads."""

OF_SEVERAL_READERS = frozenset({Check.DIVERGENT_READERS})
"""Checks that have nothing to judge where each topic is read by one group."""

OF_LOG_STARTS = frozenset({Check.EXPIRED_READ})
"""Checks that have nothing to judge where no leader told its log start."""

OF_TRANSACTIONS = frozenset(
    {
        Check.ZOMBIE_PRODUCER_ACCEPTED,
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

OF_EVERY_RUN = (Check.PRODUCE_UNAVAILABLE, Check.STUCK_CONSUMER, Check.PHASE_OVERRUN)
"""Checks that every plan has, named by its scenario or not."""

OF_GROUPS = frozenset({Check.STUCK_CONSUMER})
"""Of these, the ones that a run without groups leaves out."""
