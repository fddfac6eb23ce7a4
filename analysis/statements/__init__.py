"""Statements of checks and facts: their files, what a trace is asked, and what checks find."""
