"""The interval of a share that was counted."""

import math

_Z95 = 1.959963984540054


def wilson(count: int, of: int) -> tuple[float, float]:
    """Return the 95 % interval of Wilson of a share; (0, 1) without a case."""
    if not of:
        return 0.0, 1.0
    share, z2 = count / of, _Z95 * _Z95
    middle = (share + z2 / (2 * of)) / (1 + z2 / of)
    half = _Z95 * math.sqrt(share * (1 - share) / of + z2 / (4 * of * of)) / (1 + z2 / of)
    low, high = max(0.0, middle - half), min(1.0, middle + half)
    return (0.0 if count == 0 else low), (1.0 if count == of else high)
