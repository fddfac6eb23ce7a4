"""Chaos tests for Apache Kafka's leader epochs, against real clusters.

An installation has all packages of the repository below this one, as `fencepost.harness`
(docs/decisions/0049). Workers and tasks of Spark import them, so this module imports nothing.
"""
