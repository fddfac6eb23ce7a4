"""A run's wall time in a line."""

from harness.contract.verdicts import Timing


def told_timing(timing: Timing) -> str:
    """E.g. `starting 9.4 s, story 15.4 s (5.1x the 3.0 s that ... force), collecting 3.7 s`."""
    story = f"story {timing.story:.1f} s"
    if timing.forced:
        times = timing.story / timing.forced
        by = ", ".join(timing.forced_by)
        story += f" ({times:.1f}x the {timing.forced:.1f} s that {by} force)"
    return f"starting {timing.starting:.1f} s, {story}, collecting {timing.collecting:.1f} s"
