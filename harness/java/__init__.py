"""Kafka's own classes, in a JVM inside this process."""
