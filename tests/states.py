"""A state of the protocol for tests about coverage, which they change in single values."""

from contract.coverage import State

STATE = State(
    leader="led",
    isr="full",
    gap="0",
    log_start="before",
    record="equal",
    coordinator="same",
    members="1",
    transaction="none",
)
