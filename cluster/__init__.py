"""The thing under test: nodes, and Kafka on them."""
