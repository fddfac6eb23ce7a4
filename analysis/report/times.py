"""A run's wall time in a line."""

from contract.verdicts import Timing


def told_timing(timing: Timing) -> str:
    """E.g. `starting 9.4 s, story 7.1 s (1.4x the 5.1 s that the cluster took; ...)`."""
    story = f"story {timing.story:.1f} s"
    if timing.awaited and not timing.forced:
        story += f" ({timing.awaited:.1f} s of it waiting for the cluster, none for a timeout)"
    elif timing.awaited:
        times = timing.story / timing.awaited
        story += f" ({times:.1f}x the {timing.awaited:.1f} s that the cluster took;"
        story += f" {', '.join(timing.forced_by)} alone: {timing.forced:.1f} s)"
    return f"starting {timing.starting:.1f} s, {story}, collecting {timing.collecting:.1f} s"
