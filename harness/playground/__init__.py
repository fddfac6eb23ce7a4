"""A cluster for faults by hand: one command starts it, others inject and heal faults."""
