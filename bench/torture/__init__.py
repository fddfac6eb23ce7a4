"""Attempts to break the tool: bad calls, damaged runs, kills, a full disk, hostile text."""
