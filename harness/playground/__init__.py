"""A cluster to play with: brought up by one command, struck and healed by others."""
