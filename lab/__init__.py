"""Studies of nights that are repeated, as tables of the docs; tools of a change. Not shipped."""
