"""The image of a Docker node, and how it is built."""
