"""The commands of `fencepost`, one module a family."""
