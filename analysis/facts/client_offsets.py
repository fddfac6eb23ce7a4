"""The commits of groups that have clients, as they are stored, and who made each of them."""

from analysis.statements.facts import fact_named

OFFSETS_TOPIC = "__consumer_offsets"
COMMIT = ("group", "topic", "partition", "offsets_partition", "offsets_offset")
COMMIT_CLOCK_MICROS = 1000
"""A commit record's timestamp is in milliseconds."""

client_offsets = fact_named("client_offsets")
