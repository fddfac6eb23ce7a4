"""Suites of scenarios, run one by one through a night that can be killed and continued."""
