"""Any request at any version, from Kafka's own message classes."""
