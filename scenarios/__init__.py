"""The scenarios: one ducktape file each, named `<scenario>_test.py`."""
