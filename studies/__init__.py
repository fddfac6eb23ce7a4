"""Questions about Kafka and this harness whose results are published: their runs and pages."""
