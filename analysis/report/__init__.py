"""The report of a run and of a session: single files that open offline."""
