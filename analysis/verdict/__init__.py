"""From findings to a verdict, and what leaves a run undecided."""
