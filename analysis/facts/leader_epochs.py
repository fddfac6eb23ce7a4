"""Leader epochs: who led in each and until when, and where the surviving branch leaves each."""

from analysis.statements.facts import fact_named

HEARD_SECONDS = 5
"""After so long, a broker has heard of a change in the metadata log, or serves no more."""

leader_epochs = fact_named("leader_epochs")
states = fact_named("leadership_states")
small_isrs = fact_named("small_isrs")
