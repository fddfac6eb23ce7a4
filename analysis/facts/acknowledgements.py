"""Under which leader epoch, and by which broker, a send was acknowledged."""

from analysis.statements.facts import fact_named

lost = fact_named("lost_acknowledged")
survived_late = fact_named("survived_late")
