"""Histories of the exam; `asks` takes each in."""
