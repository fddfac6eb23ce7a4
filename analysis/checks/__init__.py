"""The checks: pure functions from a trace to findings, one file a family."""
