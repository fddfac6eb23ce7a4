"""The exam of the judge: its histories, and what lays them into one trace."""
