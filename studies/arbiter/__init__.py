"""The arbiter of KAFKA-19902: builds, runs, predictions and the page of their outcomes."""
