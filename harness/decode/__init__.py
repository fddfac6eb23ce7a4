"""From what a run left behind to the trace tables; Kafka's own classes decode Kafka's own files."""
