"""The interval of a share that was counted."""


def wilson(count: int, of: int) -> tuple[float, float]:
    """Return the 95 % interval of Wilson of a share; (0, 1) without a case."""
    from scipy.stats import binomtest  # noqa: PLC0415 - slow to load, and few commands need it

    if not of:
        return 0.0, 1.0
    interval = binomtest(count, of).proportion_ci(0.95, method="wilson")
    return float(interval.low), float(interval.high)
