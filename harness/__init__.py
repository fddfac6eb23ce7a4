"""Runs scenarios: clients, faults, collection, and the command line."""
