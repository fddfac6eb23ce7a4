"""The checks, a file each: a header, which has the cases, and one statement."""
