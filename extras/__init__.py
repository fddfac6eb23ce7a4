"""What the core does without: each extra has its commands, scenarios and pages."""
