"""The site of the docs: pages written by hand, and tables that are made when it is built."""
