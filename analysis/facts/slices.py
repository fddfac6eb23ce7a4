"""Records in slices: see `analysis/macros/slices.sql`."""

from analysis.facts.stated import fact_named

polls = fact_named("sliced_polls")
acknowledged = fact_named("sliced_acknowledged")
unacknowledged = fact_named("sliced_unacknowledged")
surviving = fact_named("surviving_records")
