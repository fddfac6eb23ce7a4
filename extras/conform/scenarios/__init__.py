"""The scenario of the conformance suite."""
