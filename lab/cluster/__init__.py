"""What a cluster and its clients cost, beside Kafka's own programs."""
