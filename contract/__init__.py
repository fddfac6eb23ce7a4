"""Types and paths that the harness and the analysis share; imports nothing else of the project."""
