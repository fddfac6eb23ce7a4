"""The columns that a row must have to be drawn."""

_LOG = ("topic", "partition")
NEEDED = {
    "broker_states": (
        "broker",
        "is_fenced",
        "in_controlled_shutdown",
        "metadata_offset",
        "at_micros",
    ),
    "committed_offsets": (
        *_LOG,
        "group",
        "is_tombstone",
        "offsets_offset",
        "committed_micros",
    ),
    "cut_batches": (*_LOG, "broker", "base_offset", "last_offset", "leader_epoch"),
    "epoch_checkpoints": (*_LOG, "broker", "leader_epoch", "start_offset"),
    "faults": ("fault", "target_kind", "injected_micros"),
    "group_events": (*_LOG, "group", "member", "change", "seq", "at_micros"),
    "leaderships": (
        *_LOG,
        "leader",
        "leader_epoch",
        "replicas",
        "isr",
        "elr",
        "metadata_offset",
        "at_micros",
    ),
    "log_start_changes": (*_LOG, "log_start_offset", "at_micros"),
    "log_starts": (*_LOG, "broker", "log_start_offset", "log_end_offset"),
    "metadata_batches": ("leader", "metadata_epoch", "at_micros"),
    "phases": ("stage", "doing", "began_micros"),
    "polls": (*_LOG, "group", "first_offset", "last_offset", "polled_micros"),
    "resets": (*_LOG, "group", "member", "at_micros"),
    "samples": (*_LOG, "broker", "log_start_offset", "log_end_offset", "at_micros"),
    "sends": (
        *_LOG,
        "producer",
        "acks",
        "outcome",
        "first_sequence",
        "last_sequence",
    ),
    "truncations": (*_LOG, "broker", "to_offset", "at_micros"),
}
"""The tables that the timeline reads, and the columns without which a row has no place in it."""
USED = {
    "polls": list(NEEDED["polls"]),
    "sends": [*NEEDED["sends"], "last_offset", "error", "intended_micros", "answered_micros"],
}
"""The columns that are read of the largest tables; of the others all are."""
