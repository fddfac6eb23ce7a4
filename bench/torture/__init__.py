"""Robustness tests of the tool: bad calls, damaged runs, kills, a full disk, hostile text."""
