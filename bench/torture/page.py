"""docs/reliability.md: what was tried, and what held."""

from collections.abc import Iterable

from bench.torture.attempt import Area, Record

_HEAD = """# What breaks is reported, and nothing is lost

Made by `make torture`: attempts to break the tool, with seed {seed}, in {minutes:.0f} minutes, at
{heads}.
An attempt fails where it ends in a traceback, a wrong exit code, a pass of a damaged run, an
accusation that damage caused, or something left behind.

{held} of {tried} attempts held.

| class | tried | held | what holds | by |
|---|---|---|---|---|
"""
_LIES = """
## Lies

{lies} (`make lies`, [lies.md](lies.md)). They are not counted above.
"""
_NOT_TRIED = """
## What was not tried

- The clock of a machine, set while a run goes on: namespaces and containers share it with all
  other processes. Clocks are moved in the histories of a finished run instead.
- A power failure: what a file system loses that was not synced.
- A disk that is full for the nodes alone, and not for the results.
"""


def page(record: Record, areas: Iterable[Area], *, lies: str) -> str:
    """The page as Markdown.

    Args:
        record: what was tried.
        areas: the classes, in the order of their rows.
        lies: one sentence on how many lies were noticed.
    """
    made = [one for one in record.attempts() if not one.skipped]
    held = sum(not one.problem for one in made)
    heads = sorted({f"`{area.git_head[:12]}`" for area in record.areas.values()})
    seconds = sum(area.seconds for area in record.areas.values())
    text = _HEAD.format(
        seed=record.seed,
        minutes=seconds / 60,
        heads=f"commit {heads[0]}" if len(heads) == 1 else f"commits {', '.join(heads)}",
        held=held,
        tried=len(made),
    )
    complete = {name for name, area in record.areas.items() if area.is_complete}
    classes = list(areas)
    for area in classes:
        of_area = [one for one in made if one.area == area.name]
        well = sum(not one.problem for one in of_area)
        text += f"| {area.name} | {len(of_area)} | {well} | {area.promise} | {area.by} |\n"
    broken = [one for one in made if one.problem]
    if broken:
        text += "\n## What did not hold\n\n| class | tried | what happened |\n|---|---|---|\n"
        text += "".join(
            f"| {one.area} | {_cell(one.tried)} | {_cell(one.problem)} |\n" for one in broken
        )
    if lies:
        text += _LIES.format(lies=lies)
    text += _NOT_TRIED
    if left := [area.name for area in classes if area.name not in complete]:
        text += f"- In these passes, or not to their end: {', '.join(left)}.\n"
    skipped = [one for one in record.attempts() if one.skipped]
    return text + "".join(f"- {one.tried}: {one.skipped}.\n" for one in skipped)


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ").replace("<", "&lt;")
