"""What is known of a run: its tables, and what several checks ask of them."""
