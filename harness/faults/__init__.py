"""Faults: a verb on a target that is resolved when it is injected, with evidence of its effect."""
