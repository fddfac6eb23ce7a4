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
    FAULT_LANDED = "fault_landed"
    STALLED = "stalled"
    HISTORY_COMPLETE = "history_complete"
    ZOMBIE_PRODUCER_ACCEPTED = "zombie_producer_accepted"
    ABORTED_READ = "aborted_read"
    TORN_TRANSACTION = "torn_transaction"
    RESUMPTION = "resumption"


OF_TRANSACTIONS = frozenset(
    {Check.ZOMBIE_PRODUCER_ACCEPTED, Check.ABORTED_READ, Check.TORN_TRANSACTION}
)
"""Checks that have nothing to judge where no producer is transactional."""
