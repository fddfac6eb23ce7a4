"""Histories without a cluster: simulated, without anomalies.

A history consists of universes, one after the other in time. Each has one topic, and brokers,
producers and groups of its own. The simulator shares no code with the checks.
"""
