"""Decodes a run's files to the trace tables, Kafka's files with Kafka's own classes."""
