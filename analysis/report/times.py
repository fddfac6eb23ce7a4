"""A run's wall time in a line."""

from contract.verdicts import Timing, Verdict


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
