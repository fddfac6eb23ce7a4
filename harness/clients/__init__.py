"""Clients under test: one worker contract, several clients behind it."""
