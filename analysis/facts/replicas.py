"""What replicas held and reported: their records, their truncations, their high watermarks."""

from analysis.statements.facts import fact_named

unmatched = fact_named("unmatched_replicas")
ends_of_replicas = fact_named("ends_of_replicas")
survivors_above = fact_named("survivors_above")
replicated_above = fact_named("replicated_above")
