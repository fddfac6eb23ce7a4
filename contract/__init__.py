"""All that the harness and the analysis agree on; it imports nothing else of the project."""
