"""Lies: changes of one place of a genuine run, each with the check that must notice it."""
