"""What a scenario is made of: the verbs of a run, its groups, loads and faults."""
