"""Suites of scenarios, run one by one in a night that can be killed and continued."""
