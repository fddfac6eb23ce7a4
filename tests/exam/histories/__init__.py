"""The histories of the exam; `asks` takes each in."""
