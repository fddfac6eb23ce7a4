"""One invocation: its scenarios under ducktape, their folders, and leftovers of killed runs."""
