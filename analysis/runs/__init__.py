"""Tables of a run: where they are, whether they keep their contract, and their trace."""
