"""Nodes: one abstraction over namespaces, folders and, later, containers."""
