"""The stories of docs/hunt.md, and their tables."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from analysis.report.words import share, with_noun
from bench import figures
from bench.figures import rendered
from studies.hunt import coordinators
from studies.hunt.stories import NEAR_MISSES, GroupSum, Story

_NAME = "hunt"
_TEMPLATE = Path(__file__).with_name("hunt.md.j2")
_HOUR = 3600
_REPORTED = "reported"
_Sums = dict[tuple[str, str], list[tuple[Story, GroupSum]]]


def keep(stories: Sequence[Story]) -> Path:
    """Keep stories beside those that are kept already; they outlive the folders of their runs."""
    return figures.keep(_NAME, together(kept(), stories))


def kept() -> list[Story]:
    """Return the stories that are kept."""
    return figures.kept(_NAME, list[Story])


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


def part(
    stories: Sequence[Story] | None = None, changes: Sequence[coordinators.Story] | None = None
) -> str:
    """The part of docs/hunt.md that is made, by default of the stories that are kept."""
    every = kept() if stories is None else stories
    changed = coordinators.kept() if changes is None else changes
    known = [story for story in every if story.is_known]
    found, resumptions = counted(known)
    sums = _sums(known)
    return rendered(
        _TEMPLATE,
        with_noun=with_noun,
        share=share,
        hours=_hours,
        stories=every,
        known=known,
        found=found,
        resumptions=resumptions,
        hit=sum(story.unjustified > 0 for story in known),
        unknown=len(every) - len(known),
        open_cases=sum(group.undecided for story in known for group in story.groups),
        of_version=dict(sorted(Counter(story.kafka for story in known).items())),
        near_misses=NEAR_MISSES,
        by_group=list(_by_group(sums)),
        near=list(_near(sums)),
        by_story=list(map(_of_story, every)),
        changes={
            "stories": changed,
            "of_java": list(coordinators.of_java(changed)),
            "by_reader": list(coordinators.by_reader(changed)),
            "of_stories": list(coordinators.of_stories(changed)),
        },
    )


def _hours(stories: Iterable[Story]) -> float:
    return sum(story.seconds for story in stories) / _HOUR


def _by_group(sums: _Sums) -> Iterator[Sequence[object]]:
    for (retention, name), own in sums.items():
        hours, groups = _hours(story for story, _ in own), [group for _, group in own]
        resumptions = sum(group.resumptions for group in groups)
        yield (
            retention,
            f"`{name}`",
            groups[0].differs,
            len(own),
            f"{resumptions:,}",
            f"{resumptions / hours:,.0f}" if hours else "-",
            _counts(_resets(groups)),
            f"{sum(group.unjustified for group in groups):,}",
            _percent(sum(g.again for g in groups), sum(g.delivered for g in groups)),
        )


def _near(sums: _Sums) -> Iterator[Sequence[object]]:
    for (retention, name), own in sums.items():
        groups = [group for _, group in own]
        near = (f"{sum(group.near[one] for group in groups):,}" for one in NEAR_MISSES)
        yield retention, f"`{name}`", f"{sum(group.resumptions for group in groups):,}", *near


def _of_story(story: Story) -> Sequence[object]:
    return (
        story.kafka,
        f"{story.scale}: {story.partitions} partitions, {story.members} members",
        story.retention,
        story.seed,
        f"{story.seconds / 60:.0f}",
        story.rounds,
        f"{story.records:,}",
        _counts(Counter(story.faults)),
        f"{story.resumptions:,}",
        f"{story.unjustified:,}" if story.is_known else "unknown",
        ", ".join([story.verdict, *story.unexpected, *["ended early"] * bool(story.error)]),
    )


def _sums(stories: Iterable[Story]) -> _Sums:
    """By retention and group, the reported one first: its sums in each story."""
    found: defaultdict[tuple[str, str], list[tuple[Story, GroupSum]]] = defaultdict(list)
    for story in stories:
        for group in story.groups:
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
