"""The parts of a scenario: the verbs of a run, its groups, loads and faults."""
