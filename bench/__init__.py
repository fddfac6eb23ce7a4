"""Figures that the docs publish, each made by a command."""
