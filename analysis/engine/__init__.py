"""Statements in Spark's SQL, built without a session, and the sessions that run them."""
