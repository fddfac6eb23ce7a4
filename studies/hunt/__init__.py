"""The hunt for KAFKA-19902's reset: stories, their sum, and the page that they make."""
