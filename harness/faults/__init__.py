"""Faults: a verb on a target that is resolved at the injection, with evidence of the effect."""
