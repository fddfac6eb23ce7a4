"""The commits of groups that have clients, as they are stored, and who made each of them."""

from analysis.facts.stated import fact_named

OFFSETS_TOPIC = "__consumer_offsets"

client_offsets = fact_named("client_offsets")
