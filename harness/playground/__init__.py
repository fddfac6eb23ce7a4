"""A cluster to play with: brought up by one command; faults are injected and healed by others."""
