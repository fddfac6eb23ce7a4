"""The questions: one ducktape file each, named `<question>_test.py`."""
