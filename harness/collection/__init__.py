"""The end of a run: histories, logs and replicas are collected into the run's folder."""
