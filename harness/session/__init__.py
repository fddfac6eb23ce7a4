"""One invocation: its scenarios under ducktape, their folders, and what killed runs left."""
