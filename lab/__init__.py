"""Studies of nights that are repeated, as tables of the docs. Not shipped."""
