"""Deliveries and acknowledged sends as ranges, with their times."""

from analysis.statements.facts import fact_named

deliveries = fact_named("deliveries")
delivered_ranges = fact_named("delivered_ranges")
sends = fact_named("counted_sends")
acknowledged_sends = fact_named("acknowledged_sends")
client_resets = fact_named("client_resets")
