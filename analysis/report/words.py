"""Numbers, times and shares in words.

The upper bound of a share says how often what was seen k times in n cases may occur. Source:
Clopper and Pearson, The Use of Confidence or Fiducial Limits Illustrated in the Case of the
Binomial (1934).
"""

from datetime import timedelta

from contract.verdicts import Timing, Verdict

CONFIDENCE = 0.95
_WHOLE_PERCENT = 10


def with_noun(number: int, noun: str) -> str:
    """E.g. `1 record`, `12,000 records`; without a noun the number alone."""
    if not noun:
        return f"{number:,}"
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def duration(seconds: float | None) -> str:
    """A time as h:mm:ss; empty where it is not known."""
    return "" if seconds is None else str(timedelta(seconds=round(seconds)))


def times_of(verdict: Verdict) -> str:
    """E.g. `starting 3.7 s, story 7.1 s (...), collecting 1.9 s, judging 2.6 s (DuckDB)`."""
    known = [] if verdict.timing is None else [_of_cluster(verdict.timing)]
    if (judging := verdict.judging) is not None:
        known.append(f"judging {judging.seconds:.1f} s ({judging.engine})")
    return ", ".join(known)


def _of_cluster(timing: Timing) -> str:
    story = f"story {timing.story:.1f} s"
    if timing.awaited and not timing.forced:
        story += f" ({timing.awaited:.1f} s of it waiting for the cluster, none for a timeout)"
    elif timing.awaited:
        times = timing.story / timing.awaited
        story += f" ({times:.1f}x the {timing.awaited:.1f} s that the cluster took;"
        story += f" {', '.join(timing.forced_by)} alone: {timing.forced:.1f} s)"
    return f"starting {timing.starting:.1f} s, {story}, collecting {timing.collecting:.1f} s"


def upper_bound(count: int, of: int) -> float:
    """Return the exact one-sided 95 % upper bound of a share; 1 without a case.

    It is the share with which so few would be seen in 1 of 20 samples. With a count of 0 that is
    about 3 / of.
    """
    if not of or count >= of:
        return 1.0
    from scipy.special import betaincinv  # noqa: PLC0415 - slow to load, and few runs need it

    return float(betaincinv(count + 1, of - count, CONFIDENCE))


def wilson(count: int, of: int) -> tuple[float, float]:
    """Return the 95 % interval of Wilson of a share; (0, 1) without a case."""
    from scipy.stats import binomtest  # noqa: PLC0415 - slow to load, and few commands need it

    if not of:
        return 0.0, 1.0
    interval = binomtest(count, of).proportion_ci(CONFIDENCE, method="wilson")
    return float(interval.low), float(interval.high)


def share(count: int, of: int) -> str:
    """Return a share's bound in words: `at most 0.3 %, with 95 % confidence if independent`."""
    percent = 100 * upper_bound(count, of)
    shown = f"{percent:.0f}" if percent >= _WHOLE_PERCENT else f"{percent:.2g}"
    return f"at most {shown} %, with {CONFIDENCE:.0%} confidence if they were independent"
