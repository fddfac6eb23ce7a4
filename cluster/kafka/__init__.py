"""Kafka on nodes: distributions, topology, configuration and the service."""
