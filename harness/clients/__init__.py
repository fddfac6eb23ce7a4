"""Clients under test: one worker interface with several clients."""
