"""What changed over the nights of a store: states of findings, verdicts of scenarios, trends."""
