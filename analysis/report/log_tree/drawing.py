"""Trees of logs as inline SVG. Every text of the run is escaped.

Offsets stand across the width in order, and long spans are shortened.
"""

import math
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from itertools import pairwise

from markupsafe import Markup

from analysis.report.log_tree.model import (
    Branch,
    Commit,
    Segment,
    Tree,
    branch_in_words,
    commit_in_words,
    commits_of,
    described,
    epoch_name,
    leaders_in_words,
    tree_of,
    why,
)
from analysis.report.run_facts import RunFacts
from analysis.report.timeline.lanes import RED, SERIES
from analysis.report.timeline.source import Partition, Source
from analysis.statements.registry import CHECKS
from contract.verdicts import Verdict

EPOCH_CHECKS = frozenset(check for check, one in CHECKS.items() if one.header.has_tree)
"""Checks whose findings the epochs of the log explain."""
TREES_MAX = 3
COMMITS_MAX = 6
BRANCHES_MAX = 4
_CHANGED = "select topic, partition from truncations union select topic, partition from cut_batches"
PLACES_MAX = 14
_STEP_MIN = 60
_WIDTH, _LEFT, _RIGHT = 960, 24, 936
_BOX = 34
_LETTER = 6.6
"""About the width of a letter of 12 px."""


@dataclass(frozen=True)
class LogTree:
    """The picture of one partition.

    Attributes:
        topic: of the partition.
        partition: its number.
        svg: an element to be put into a page; every text of the run is escaped.
        sentences: what it shows.
        left: the number of further partitions that findings or truncations concern.
    """

    topic: str
    partition: int
    svg: Markup
    sentences: list[str]
    left: int = 0


def log_trees(facts: RunFacts, verdict: Verdict) -> list[LogTree]:
    """The partitions whose log branched or whose findings need its epochs, at most `TREES_MAX`."""
    source = Source(facts, verdict)
    trees = sorted(_concerned(source), key=lambda tree: not tree.branches)
    left = max(0, len(trees) - TREES_MAX)
    return [
        _drawn(source, tree, number, left) for number, tree in enumerate(trees[:TREES_MAX], start=1)
    ]


def _concerned(source: Source) -> Iterator[Tree]:
    """Those with a branch, or a finding of `EPOCH_CHECKS` and several epochs or a moved start."""
    found = {
        Partition.of(one.finding) for one in source.findings if one.finding.check in EPOCH_CHECKS
    }
    changed = {Partition(row["topic"], row["partition"]) for row in source.rows(_CHANGED)}
    for where in source.partitions:
        tree = tree_of(source, where) if where in changed | found else None
        if tree is not None and (
            tree.branches or (where in found and (len(tree.main) > 1 or tree.log_start))
        ):
            yield tree


def _drawn(source: Source, tree: Tree, number: int, left: int) -> LogTree:
    commits = commits_of(source, tree)
    notes = []
    if len(commits) > COMMITS_MAX:
        notes.append(f"{len(commits) - COMMITS_MAX} other kinds of commits are not drawn.")
    if len(tree.branches) > BRANCHES_MAX:
        notes.append(f"{len(tree.branches) - BRANCHES_MAX} other branches are not drawn.")
    commits, drawn = commits[:COMMITS_MAX], tree.with_branches(BRANCHES_MAX)
    svg = svg_of(drawn, commits, number=number, notes=notes)
    return LogTree(
        topic=tree.where.topic,
        partition=tree.where.number,
        svg=Markup(svg),  # noqa: S704 - each text in it is escaped
        sentences=[*described(drawn, commits), *notes],
        left=left,
    )


@dataclass(frozen=True)
class Scale:
    """Where offsets stand.

    Attributes:
        offsets: those with a label, ascending.
        places: theirs, from the left.
    """

    offsets: tuple[int, ...]
    places: tuple[float, ...]

    def x(self, offset: float) -> float:
        """The place of an offset; between two labels, in proportion."""
        if offset <= self.offsets[0]:
            return self.places[0]
        if offset >= self.offsets[-1]:
            return self.places[-1]
        after = bisect_right(self.offsets, offset)
        begin, end = self.offsets[after - 1], self.offsets[after]
        part = (offset - begin) / (end - begin)
        return self.places[after - 1] + part * (self.places[after] - self.places[after - 1])


def scale_of(offsets: set[int], left: float, right: float) -> Scale:
    """Each span between two offsets gets a least width, and more the longer it is."""
    ordered = sorted(offsets)
    if len(ordered) == 1:
        ordered = [ordered[0], ordered[0] + 1]
    weights = [math.log1p(end - begin) for begin, end in pairwise(ordered)]
    step = min(_STEP_MIN, (right - left) / len(weights))
    rest = (right - left) - step * len(weights)
    places = [left]
    for weight in weights:
        places.append(places[-1] + step + rest * weight / sum(weights))
    return Scale(tuple(ordered), tuple(places))


def offsets_of(tree: Tree, main: tuple[Segment, ...], commits: list[Commit]) -> set[int]:
    """The offsets that get a label."""
    ends = [one.end for branch in tree.branches for one in branch.segments]
    commit_ends = [one.resumed_at for one in commits]
    return {
        *(one.begin for one in main),
        *(one.begin for branch in tree.branches for one in branch.segments),
        *(one.offset for one in commits),
        *(one for one in [*ends, *commit_ends] if one is not None),
        tree.log_start,
        tree.log_end,
    }


def simplified(tree: Tree, commits: list[Commit]) -> tuple[Segment, ...]:
    """The surviving log's segments: neighbors are joined until all places fit.

    Those without a fork and without a commit at their ends are joined first.
    """
    main = list(tree.main)
    marked = offsets_of(tree, (), commits)
    while len(offsets_of(tree, tuple(main), commits)) > PLACES_MAX:
        free = [place for place in range(1, len(main)) if main[place].begin not in marked]
        if not free:
            break
        place = free[0]
        first, second = main[place - 1], main[place]
        main[place - 1 : place + 1] = [
            Segment(first.epoch, first.begin, second.end, second.last_epoch)
        ]
    return tuple(main)


class _Canvas:
    """Lines of SVG, from the top to the bottom."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.under: list[str] = []
        self.y = 0.0

    def add(self, part: str) -> None:
        self.parts.append(part)

    def text(
        self,
        x: float,
        y: float,
        text: str,
        *,
        size: int = 12,
        anchor: str = "start",
        style: str = "",
    ) -> None:
        """A text at its baseline."""
        self.add(
            f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}"'
            f' fill="currentColor" class="fp-text"{style}>{escape(text)}</text>'
        )


def svg_of(tree: Tree, commits: list[Commit], *, number: int, notes: list[str]) -> str:
    """The picture.

    Args:
        tree: the branches.
        commits: of groups.
        number: of the tree on its page, so that its ids are its own.
        notes: sentences below it.
    """
    main = simplified(tree, commits)
    scale = scale_of(offsets_of(tree, main, commits), _LEFT, _RIGHT)
    canvas = _Canvas()
    canvas.text(_LEFT, 18, f"{tree.where}", size=15, style=' font-weight="700"')
    note = f"surviving log, on broker {tree.broker}; offsets in order, not to scale"
    canvas.text(_RIGHT, 18, note, anchor="end", style=' opacity="0.75"')
    rows = _Rows(tree, scale, canvas, number)
    rows.draw_main(main)
    for branch in tree.branches:
        rows.draw_branch(branch)
    for commit in commits:
        rows.draw_commit(commit)
    canvas.y += 8
    for line in (*_broken(leaders_in_words(tree)), *notes):
        canvas.y += 18
        canvas.text(_LEFT, canvas.y, line, style=' opacity="0.85"')
    return _framed(tree, commits, canvas, number)


def _framed(tree: Tree, commits: list[Commit], canvas: _Canvas, number: int) -> str:
    height = canvas.y + 14
    ids = f"fp-tree-{number}"
    said = " ".join(described(tree, commits))
    return (
        f'<svg class="fp-tree" xmlns="http://www.w3.org/2000/svg"'
        f' viewBox="0 0 {_WIDTH} {height:.0f}"'
        f' role="img" aria-labelledby="{ids}-title {ids}-desc" font-family="inherit"'
        f' style="width:100%;min-width:720px;max-width:{_WIDTH + 140}px;height:auto">'
        f'<title id="{ids}-title">{escape(f"The log of {tree.where} as a tree of epochs")}</title>'
        f'<desc id="{ids}-desc">{escape(said)}</desc>'
        "<style>.fp-text{paint-order:stroke;stroke:var(--back,Canvas);stroke-width:4px}"
        ".fp-box .fp-text{stroke:none}</style>"
        f'<defs><pattern id="{ids}-gone" width="7" height="7" patternUnits="userSpaceOnUse"'
        ' patternTransform="rotate(45)"><path d="M0 0V7" stroke="currentColor" stroke-width="2"'
        f' opacity="0.28"/></pattern><marker id="{ids}-tip" viewBox="0 0 8 8" refX="7" refY="4"'
        ' markerWidth="8" markerHeight="8" orient="auto-start-reverse"><path d="M0 0L8 4L0 8Z"'
        ' fill="currentColor"/></marker></defs>'
        f"{''.join(canvas.under)}{''.join(canvas.parts)}</svg>"
    )


class _Rows:
    """Draws the rows of a tree, one below the other."""

    def __init__(self, tree: Tree, scale: Scale, canvas: _Canvas, number: int) -> None:
        self.tree = tree
        self.scale = scale
        self.canvas = canvas
        self.ids = f"fp-tree-{number}"
        self.leaders = {one.epoch: one for one in tree.leaderships}
        self.bottoms: list[tuple[Branch | None, float]] = []

    def draw_main(self, segments: tuple[Segment, ...]) -> None:
        """The surviving log, with the labels of the offsets."""
        top = 62.0
        for offset, place in zip(self.scale.offsets, self.scale.places, strict=True):
            self.canvas.text(place, top - 12, f"{offset:,}", size=11, anchor="middle")
            self.canvas.add(
                f'<path d="M{place:.1f} {top - 8}V{top}" stroke="currentColor" opacity="0.5"/>'
            )
        begin = segments[0].begin
        first = min(begin, self.scale.offsets[0])
        if first < max(begin, self.tree.log_start):
            self._deleted(first, top)
        for segment in segments:
            self._box(segment, top, is_gone=False)
        self.canvas.y = top + _BOX
        self.bottoms.append((None, self.canvas.y))

    def _deleted(self, first: int, top: float) -> None:
        begin, end = self.scale.x(first), self.scale.x(self.tree.log_start)
        self.canvas.add(
            f'<rect x="{begin:.1f}" y="{top}" width="{end - begin:.1f}" height="{_BOX}"'
            f' fill="url(#{self.ids}-gone)" stroke="currentColor" stroke-opacity="0.4"'
            f' stroke-dasharray="3 3"><title>below the log start {self.tree.log_start}</title>'
            "</rect>"
        )

    def _box(self, segment: Segment, top: float, *, is_gone: bool) -> None:
        first = segment.begin if is_gone else max(segment.begin, self.tree.log_start)
        begin = self.scale.x(first)
        end = _RIGHT if segment.end is None else self.scale.x(segment.end)
        if end <= begin:
            return
        color = color_of(segment.epoch)
        dash = ' stroke-dasharray="5 4"' if is_gone else ""
        reported = f"{epoch_name(segment)}, {self._leader(segment)}"
        box = f'x="{begin:.1f}" y="{top:.1f}" width="{end - begin:.1f}" height="{_BOX}" rx="3"'
        self.canvas.add(
            f'<g class="fp-box"><title>{escape(reported)}</title><rect {box} fill="{color}"'
        )
        self.canvas.add(f' fill-opacity="0.28" stroke="{color}" stroke-width="1.5"{dash}/>')
        if is_gone:
            self.canvas.add(f'<rect {box} fill="url(#{self.ids}-gone)"/>')
        middle = (begin + end) / 2
        fits = (end - begin) / _LETTER
        name = epoch_name(segment)
        name = name if len(name) < fits else str(segment.epoch)
        who = self._leader(segment)
        has_two = len(who) * 0.9 < fits
        self.canvas.text(
            middle, top + (15 if has_two else 21), name, anchor="middle", style=' font-weight="600"'
        )
        if has_two:
            self.canvas.text(middle, top + 28, who, size=11, anchor="middle")
        self.canvas.add("</g>")

    def _leader(self, segment: Segment) -> str:
        led = self.leaders.get(segment.epoch)
        if led is None or segment.last_epoch != segment.epoch:
            return ""
        return "no leader" if led.leader < 0 else f"broker {led.leader} led"

    def draw_branch(self, branch: Branch) -> None:
        """A branch leaves the surviving log at its fork."""
        top = self.canvas.y + 26
        fork = self.scale.x(branch.fork)
        main = self.bottoms[0][1]
        color = color_of(branch.segments[0].epoch)
        self.canvas.add(
            f'<path d="M{fork:.1f} {main}V{top + _BOX / 2}" fill="none" stroke="{color}"'
            ' stroke-width="2.5"/>'
            f'<circle cx="{fork:.1f}" cy="{main}" r="4" fill="{color}"/>'
        )
        for segment in branch.segments:
            self._box(segment, top, is_gone=branch.is_truncated)
        self.canvas.y = top + _BOX
        self.bottoms.append((branch, self.canvas.y))
        self._beside(branch_in_words(branch), fork, branch, top)

    def _beside(self, reported: str, fork: float, branch: Branch, top: float) -> None:
        """The label of a branch: to its right where it fits, else below."""
        ends = [_RIGHT if one.end is None else self.scale.x(one.end) for one in branch.segments]
        right = max(ends) + 10
        if right + len(reported) * _LETTER < _WIDTH:
            self.canvas.text(right, top + 21, reported)
            return
        self.canvas.y += 17
        if fork + len(reported) * _LETTER < _WIDTH:
            self.canvas.text(fork, self.canvas.y, reported)
        else:
            self.canvas.text(_RIGHT, self.canvas.y, reported, anchor="end")

    def draw_commit(self, commit: Commit) -> None:
        """The words, then the commit as a diamond with an arrow to where its groups continued."""
        canvas = self.canvas
        canvas.y += 30
        bad = f' font-weight="600" style="fill:var(--bad, {RED})"' if commit.never_delivered else ""
        for line in _broken(commit_in_words(commit)):
            canvas.text(_LEFT, canvas.y, line, style=bad)
            canvas.y += 16
        for line in _broken(why(commit, self.tree)):
            canvas.text(_LEFT, canvas.y, line, style=' opacity="0.85"')
            canvas.y += 16
        y = canvas.y + 2
        at = self.scale.x(commit.offset)
        color = "currentColor" if commit.epoch is None else color_of(commit.epoch)
        canvas.add(
            f"<g><title>{escape(', '.join(commit.groups))}</title>"
            f'<path d="M{_LEFT} {y}H{_RIGHT}" stroke="currentColor" opacity="0.18"/>'
        )
        self._skipped(commit, y)
        anchor = self._row_of(commit)
        if anchor is not None:
            canvas.under.append(
                f'<path d="M{at:.1f} {anchor:.1f}V{y - 8:.1f}" stroke="{color}" stroke-width="1.2"'
                ' stroke-dasharray="2 4" opacity="0.7"/>'
            )
        self._arrow(commit, at, y)
        canvas.add(
            f'<path d="M{at:.1f} {y - 7:.1f}l7 7l-7 7l-7 -7Z" fill="{color}"'
            ' stroke="currentColor" stroke-width="1"/></g>'
        )
        canvas.y = y + 10

    def _skipped(self, commit: Commit, y: float) -> None:
        if commit.skipped is None:
            return
        begin, end = self.scale.x(commit.skipped[0]), self.scale.x(commit.skipped[1] + 1)
        self.canvas.add(
            f'<path d="M{begin:.1f} {y}H{end:.1f}" stroke="{RED}" stroke-width="7" opacity="0.75">'
            f"<title>never delivered: {commit.skipped[0]} to {commit.skipped[1]}</title></path>"
        )

    def _arrow(self, commit: Commit, at: float, y: float) -> None:
        if commit.exception is not None:
            self._beside_commit("raises an exception", at, y)
        elif commit.resumed_at is not None:
            to = self.scale.x(commit.resumed_at)
            if abs(to - at) < 1:
                self._beside_commit("resumes here", at, y)
                return
            gap = 9 if to > at else -9
            self.canvas.add(
                f'<path d="M{at + gap:.1f} {y}H{to:.1f}" fill="none" stroke="currentColor"'
                f' stroke-width="2" marker-end="url(#{self.ids}-tip)"/>'
            )

    def _beside_commit(self, reported: str, at: float, y: float) -> None:
        is_at_right = at + 13 + len(reported) * _LETTER > _WIDTH
        x = at - 13 if is_at_right else at + 13
        self.canvas.text(x, y + 4, reported, size=11, anchor="end" if is_at_right else "start")

    def _row_of(self, commit: Commit) -> float | None:
        """The bottom of the row that has the record before the commit in the commit's epoch."""
        if commit.epoch is None:
            return None
        if self.tree.epoch_at(commit.offset - 1) == commit.epoch:
            return self.bottoms[0][1]
        for branch, bottom in self.bottoms[1:]:
            for one in () if branch is None else branch.segments:
                end = one.begin if one.end is None else one.end
                if one.epoch == commit.epoch and one.begin < commit.offset <= end:
                    return bottom
        return None


def color_of(epoch: int) -> str:
    """Neighboring epochs have different colors."""
    return SERIES[epoch % len(SERIES)]


def _broken(text: str, letters: int = 138) -> Iterator[str]:
    """Lines that fit in the width."""
    line = ""
    for word in text.split():
        if line and len(line) + 1 + len(word) > letters:
            yield line
            line = ""
        line = f"{line} {word}".strip()[:letters]
    yield line
