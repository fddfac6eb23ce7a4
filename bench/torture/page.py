"""docs/reliability.md: what was tried, and what held."""

from collections.abc import Iterable, Sequence

from bench.torture.attempt import Area, Attempt

_HEAD = """# What breaks is reported, and nothing is lost

Made by `make torture`: attempts to break the tool, with seed {seed}, in {minutes:.0f} minutes. An
attempt fails where it ends in a traceback, a wrong exit code, a pass of a
damaged run, an accusation that damage caused, or something left behind.

{held} of {tried} attempts held.

| class | tried | held | what holds | by |
|---|---|---|---|---|
"""
_NOT_TRIED = """
## What was not tried

- A clock that is moved on one node: the clock is the machine's, in namespaces and in containers.
- A power failure: what a file system loses that was not synced.
- Docker runs, except in the tests of the Docker pool.
"""


def page(attempts: Sequence[Attempt], areas: Iterable[Area], *, seed: int, minutes: float) -> str:
    """The page as Markdown."""
    held = sum(not one.problem for one in attempts)
    text = _HEAD.format(seed=seed, minutes=minutes, held=held, tried=len(attempts))
    for area in areas:
        of_area = [one for one in attempts if one.area == area.name]
        if of_area:
            well = sum(not one.problem for one in of_area)
            text += f"| {area.name} | {len(of_area)} | {well} | {area.promise} | {area.by} |\n"
    broken = [one for one in attempts if one.problem]
    if broken:
        text += "\n## What did not hold\n\n| class | tried | what happened |\n|---|---|---|\n"
        text += "".join(
            f"| {one.area} | {_cell(one.tried)} | {_cell(one.problem)} |\n" for one in broken
        )
    return text + _NOT_TRIED


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ").replace("<", "&lt;")
