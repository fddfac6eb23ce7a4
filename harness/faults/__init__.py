"""Faults: a verb on a target that is resolved when it strikes, with evidence that it bit."""
