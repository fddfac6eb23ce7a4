"""Histories without a cluster: simulated, with a planted anomaly or none.

A history is made of universes, one topic each, with brokers, producers and groups of its own, one
after the other in time. It shares no code with the checks that judge it.
"""
