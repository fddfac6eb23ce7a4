"""Carries out stories of the scenario conformance, and says what a client's cells are."""
