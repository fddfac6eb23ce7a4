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
