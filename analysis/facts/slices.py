"""Records in slices: see `analysis/macros/slices.sql`."""

from analysis.statements.facts import fact_named

polls = fact_named("sliced_polls")
sends = fact_named("sliced_sends")
acknowledged = fact_named("sliced_acknowledged")
unacknowledged = fact_named("sliced_unacknowledged")
replica_records = fact_named("sliced_replica_records")
cut_records = fact_named("sliced_cut_records")
surviving = fact_named("surviving_records")
edges = fact_named("slice_edges")
