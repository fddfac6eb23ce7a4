"""All randomness of a run comes from one seeded generator that is passed in."""

import random
import secrets

SEED_BITS = 31


def new_seed() -> int:
    """Draw a seed for a run without one."""
    return secrets.randbits(SEED_BITS)


def generator(seed: int) -> random.Random:
    """The run's only generator."""
    return random.Random(seed)  # noqa: S311 - reproducible choices, not secrets


# The interval of a share that was counted.


def wilson(count: int, of: int) -> tuple[float, float]:
    """Return the 95 % interval of Wilson of a share; (0, 1) without a case."""
    from scipy.stats import binomtest  # noqa: PLC0415 - slow to load, and few commands need it

    if not of:
        return 0.0, 1.0
    interval = binomtest(count, of).proportion_ci(0.95, method="wilson")
    return float(interval.low), float(interval.high)
