"""Versions of the clients that are Python packages, beside the installed one."""
