"""Kafka on nodes: distributions, topology, configuration, the service."""
