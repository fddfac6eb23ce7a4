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
)
"""Checks of what became of each record, for any run that writes and reads."""

OF_TRANSACTIONS = frozenset(
    {Check.ZOMBIE_PRODUCER_ACCEPTED, Check.ABORTED_READ, Check.TORN_TRANSACTION}
)
"""Checks that have nothing to judge where no producer is transactional."""

OF_EVERY_RUN = (Check.PRODUCE_UNAVAILABLE, Check.STUCK_CONSUMER, Check.PHASE_OVERRUN)
"""Checks that every plan has, named by its scenario or not."""

OF_GROUPS = frozenset({Check.STUCK_CONSUMER})
"""Of these, the ones that a run without groups leaves out."""
