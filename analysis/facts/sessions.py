"""How long a wait is, to be an outage."""

OUTAGE_SECONDS = 2
"""A wait of this length is an outage; a shorter one may be a slow machine."""
