"""Commits as clients report them, against what is stored."""

from analysis.statements.facts import fact_named

stored_otherwise = fact_named("stored_otherwise")
