"""Requests to brokers at any version, by Kafka's own message classes."""
