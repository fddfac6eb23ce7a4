"""The facts, a file each: a header and one statement. What SQL says badly is in Python."""
