"""The tables of docs/hunt.md."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import msgspec

from analysis.report.figures import with_noun
from analysis.report.shares import share
from contract.markdown import table_row
from contract.regular_files import replace_file
from studies.hunt.resumptions import NEAR_MISSES
from studies.hunt.stories import GroupSum, Story
from studies.made_pages import MadePage

MADE = MadePage("hunt.md", "python -m studies.hunt page")
KEPT = MADE.path.with_suffix(".json")
"""The stories of the page, which outlive the folders of their runs."""
_HOUR = 3600
_REPORTED = "reported"


def write(stories: Sequence[Story]) -> list[Path]:
    """Write the page from stories and those that it has already; returns what was written."""
    every = together(kept(), stories)
    replace_file(KEPT, msgspec.json.format(msgspec.json.encode(every), indent=1) + b"\n")
    made = "\n".join(tables(every))
    replace_file(MADE.path, MADE.filled(MADE.path.read_text(), made).encode())
    return [MADE.path, KEPT]


def kept() -> list[Story]:
    """Return the stories of the page."""
    return msgspec.json.decode(KEPT.read_bytes(), type=list[Story])


def counted(stories: Iterable[Story]) -> tuple[int, int]:
    """Return how many resets of a position in the log, after how many resumptions, are known."""
    known = [story for story in stories if story.is_known]
    return sum(one.unjustified for one in known), sum(one.resumptions for one in known)


def together(before: Iterable[Story], stories: Iterable[Story]) -> list[Story]:
    """Return all stories; a new one takes the place of the same one that was kept."""
    return sorted({key(one): one for one in (*before, *stories)}.values(), key=key)


def key(story: Story) -> tuple[str, str, str, int]:
    """Return what makes a story the same as another one."""
    return story.kafka, story.scale, story.retention, story.seed


def tables(stories: Sequence[Story]) -> Iterator[str]:
    """Return the lines of the answer and of all tables."""
    yield from answer(stories)
    yield from _by_group(stories)
    yield from _near(stories)
    yield from _by_story(stories)


def answer(stories: Sequence[Story]) -> Iterator[str]:
    """Return the answer: how many resumptions were reset without a reason, and the bound."""
    known = [story for story in stories if story.is_known]
    found, resumptions = counted(known)
    hit = sum(story.unjustified > 0 for story in known)
    open_cases = sum(group.undecided for story in known for group in story.groups)
    hours = sum(story.seconds for story in known) / _HOUR
    yield "## The answer"
    yield ""
    yield (
        f"**{found:,} of {with_noun(resumptions, 'resumption')} from a committed offset** reset a "
        f"position that was in the log ({share(found, resumptions)}), in {hours:.1f} hours of "
        f"hunting: {_stories(known)}."
    )
    yield ""
    yield (
        "The resumptions of a story are not independent: its groups share the leader changes, the "
        f"deletions and the machine. By stories it is {hit} of {len(known)} "
        f"({share(hit, len(known))})."
    )
    if open_cases:
        yield f"In {with_noun(open_cases, 'reset')} the sources leave open where the log began."
    if len(known) < len(stories):
        unknown = len(stories) - len(known)
        yield f"{with_noun(unknown, 'run')} could not be judged, and counts for nothing here."
    yield ""
    for story in known:
        for one in story.witnesses:
            yield (
                f"- Kafka {story.kafka}, seed {story.seed}: {one.group}, "
                f"{one.topic}-{one.partition}: {one.verdict}: {one.cause}"
            )


def _stories(stories: Sequence[Story]) -> str:
    of_version = Counter(story.kafka for story in stories)
    each = ", ".join(f"{number} on Kafka {kafka}" for kafka, number in sorted(of_version.items()))
    number = "1 story" if len(stories) == 1 else f"{len(stories)} stories"
    return f"{number} ({each})"


def _by_group(stories: Sequence[Story]) -> Iterator[str]:
    yield from _titled(
        "Each group",
        "A group differs from the reported one by one property. Resets are all that the clients "
        "reported, by cause. Delivered again: of all deliveries, those that repeated a record.",
        "| retention | group | what differs | stories | resumptions | an hour | resets | of "
        "positions in the log | delivered again |\n|---|---|---|---|---|---|---|---|---|",
    )
    for (retention, _), own in _sums(stories).items():
        hours = sum(story.seconds for story, _ in own) / _HOUR
        groups = [group for _, group in own]
        resumptions = sum(group.resumptions for group in groups)
        yield table_row(
            retention,
            f"`{groups[0].group}`",
            groups[0].differs,
            str(len(own)),
            f"{resumptions:,}",
            f"{resumptions / hours:,.0f}" if hours else "-",
            _counts(_resets(groups)),
            f"{sum(group.unjustified for group in groups):,}",
            _percent(sum(g.again for g in groups), sum(g.delivered for g in groups)),
        )
    yield ""


def _near(stories: Sequence[Story]) -> Iterator[str]:
    names = list(NEAR_MISSES)
    yield from _titled(
        "Near misses",
        "How many resumptions had part of what the report names. One can be in several columns. "
        + "; ".join(f"*{name}*: {meaning}" for name, meaning in NEAR_MISSES.items())
        + ".",
        f"| retention | group | resumptions | {' | '.join(names)} |\n|{'---|' * (len(names) + 3)}",
    )
    for (retention, name), own in _sums(stories).items():
        groups = [group for _, group in own]
        yield table_row(
            retention,
            f"`{name}`",
            f"{sum(group.resumptions for group in groups):,}",
            *(f"{sum(group.near[one] for group in groups):,}" for one in names),
        )
    yield ""


def _by_story(stories: Sequence[Story]) -> Iterator[str]:
    yield from _titled(
        "Each story",
        "Minutes are from the first fault to the end of the last. The rounds follow from the seed. "
        "A story that ended early counts as far as it came.",
        "| Kafka | scale | retention | seed | minutes | rounds | records | faults | resumptions | "
        "reset in the log | verdict |\n|---|---|---|---|---|---|---|---|---|---|---|",
    )
    for story in stories:
        yield table_row(
            story.kafka,
            f"{story.scale}: {story.partitions} partitions, {story.members} members",
            story.retention,
            str(story.seed),
            f"{story.seconds / 60:.0f}",
            str(story.rounds),
            f"{story.records:,}",
            _counts(Counter(story.faults)),
            f"{story.resumptions:,}",
            f"{story.unjustified:,}" if story.is_known else "unknown",
            ", ".join([story.verdict, *story.unexpected, *["ended early"] * bool(story.error)]),
        )
    yield ""
    for story in stories:
        if story.error:
            yield f"- Kafka {story.kafka}, seed {story.seed} ended early: {story.error}"
    yield ""


def _sums(stories: Iterable[Story]) -> dict[tuple[str, str], list[tuple[Story, GroupSum]]]:
    """By retention and group, the reported one first: its sums in each story that is known."""
    found: defaultdict[tuple[str, str], list[tuple[Story, GroupSum]]] = defaultdict(list)
    for story in stories:
        for group in story.groups if story.is_known else []:
            found[story.retention, group.group].append((story, group))
    order = sorted(found, key=lambda key: (key[0] != "short", key[1] != _REPORTED, key[1]))
    return {key: found[key] for key in order}


def _resets(groups: Iterable[GroupSum]) -> Counter[str]:
    total: Counter[str] = Counter()
    for group in groups:
        total.update(group.resets)
    return total


def _counts(counts: Counter[str]) -> str:
    return ", ".join(f"{name} {number:,}" for name, number in sorted(counts.items())) or "0"


def _percent(count: int, of: int) -> str:
    return f"{100 * count / of:.1f} %" if of else "-"


def _titled(title: str, text: str, head: str) -> Iterator[str]:
    yield from (f"## {title}", "", text, "", head)
