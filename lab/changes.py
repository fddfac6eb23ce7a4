"""Changes of a statement in one place each, for `lab.mutants`: what an author could get wrong."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import takewhile

from sqlglot import exp, parse_one
from sqlglot.dialects.dialect import Dialect

from analysis.statements.files import facts
from analysis.statements.plan import PLANNED
from analysis.statements.trace import schema_of
from contract.tables import TABLES

_WORDS_AROUND, _WORDS_MAX = 4, 40
_UNITS = (1_000, 1_000_000)
"""Factors, which are no bounds."""
_MICROS = 1_000
"""From here on a number is a time, and one more is no other bound: it is doubled."""
_THINGS = ("topic", "partition", "group")
DETERMINED = {
    ("member",): ("group",),  # a client's; the name of its group is in it
    ("offsets_partition", "offsets_offset"): ("group", "topic", "partition"),  # of one commit
}
"""By columns, in all tables and facts that have them: others that are equal where these are.

Left out of a key, they make no other one.
"""
_SWAPPED = [
    (exp.LT, exp.LTE),
    (exp.GT, exp.GTE),
    (exp.EQ, exp.NEQ),
    (exp.Min, exp.Max),
    (exp.ArgMin, exp.ArgMax),
    (exp.ArrayMin, exp.ArrayMax),
    (exp.Least, exp.Greatest),
    (exp.Lead, exp.Lag),
    (exp.First, exp.Last),
    (exp.LogicalOr, exp.LogicalAnd),
]
_ARITHMETIC = (exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Neg, exp.Paren, exp.Cast)
_COMPARISONS = (exp.LT, exp.LTE, exp.GT, exp.GTE, exp.EQ, exp.NEQ, exp.Between)

Changed = Iterator[exp.Expression]


@dataclass(frozen=True)
class Change:
    """A statement that was changed in one place.

    Attributes:
        step: of the statement, in which the place is; empty: its last SELECT.
        before: the words that were changed, and some around them.
        after: the same, changed.
        text: the whole statement.
    """

    step: str
    before: str
    after: str
    text: str


def in_one_spelling(text: str) -> str:
    """A statement as its changes are spelled."""
    return _to_text(parse_one(text, read="spark"))


def changes(text: str, *, only_steps: bool = False) -> Iterator[Change]:
    """Yield each change of a statement in Spark's SQL once.

    Args:
        text: of the statement.
        only_steps: nothing is changed in its last SELECT.
    """
    tree = parse_one(text, read="spark")
    original = _to_text(tree)
    known = {original}
    for node in list(tree.walk(bfs=False)):
        step = node.find_ancestor(exp.CTE)
        if only_steps and step is None:
            continue
        for changed in _changes_of(node):
            node.replace(changed)
            made = _to_text(changed if node is tree else tree)
            changed.replace(node)
            if made not in known:
                known.add(made)
                yield Change(step.alias if step else "", *_apart(original, made), made)


def changes_of_condition(condition: str) -> Iterator[Change]:
    """Yield each change of a condition once; the last two hold always, and never."""
    begin = "SELECT 1 WHERE "
    for change in changes(begin + condition):
        if change.text != begin + "TRUE":
            before, after = (words.split("WHERE ")[-1] for words in (change.before, change.after))
            yield Change("", before, after, change.text.removeprefix(begin))
    whole = in_one_spelling(begin + condition).removeprefix(begin)
    for constant in ("TRUE", "FALSE"):
        yield Change("", _shorten(whole.split()), constant, constant)


def _to_text(tree: exp.Expression) -> str:
    # `tree.sql` would move the steps of a query within to the top, where two may have one name.
    spark = Dialect.get_or_raise("spark").generator(comments=False)
    return str(spark.sql(tree.copy()))


def _apart(before: str, after: str) -> tuple[str, str]:
    """The words that differ, with some around them."""
    one, other = before.split(), after.split()
    first = _equal(one, other)
    last = min(_equal(one[::-1], other[::-1]), len(one) - first, len(other) - first)
    start = max(0, first - _WORDS_AROUND)
    ends = (len(words) - last + _WORDS_AROUND for words in (one, other))
    shown = (words[start:end] for words, end in zip((one, other), ends, strict=True))
    old, new = map(_shorten, shown)
    return old, new


def _equal(one: list[str], other: list[str]) -> int:
    """How many words at the beginning are equal."""
    pairs = zip(one, other, strict=False)
    return len(list(takewhile(lambda pair: pair[0] == pair[1], pairs)))


def _shorten(words: list[str]) -> str:
    if len(words) > _WORDS_MAX:
        words = [*words[: _WORDS_MAX // 2], "…", *words[-_WORDS_MAX // 2 :]]
    return " ".join(words)


def _changes_of(node: exp.Expression) -> Changed:
    """What could stand in the place of a node."""
    for pair in _SWAPPED:
        for own, other in (pair, pair[::-1]):
            if type(node) is own:
                yield other(**node.copy().args)
    yield from _RULES.get(type(node), _nothing)(node)


def _nothing(_: exp.Expression) -> Changed:
    yield from ()


def _with(node: exp.Expression, **arguments: object) -> exp.Expression:
    """A copy with other arguments."""
    made = node.copy()
    for name, value in arguments.items():
        made.set(name, value)
    return made


def _and(node: exp.Expression) -> Changed:
    """AND becomes OR, or loses a condition, each condition once."""
    left, right = node.left.copy(), node.right.copy()
    yield exp.paren(exp.or_(left, right))
    if not isinstance(right, exp.And):
        yield left
    if not isinstance(left, exp.And):
        yield right


def _or(node: exp.Expression) -> Changed:
    yield exp.paren(exp.and_(node.left.copy(), node.right.copy()))


def _not(node: exp.Expression) -> Changed:
    yield node.this.copy()


def _is(node: exp.Expression) -> Changed:
    if not isinstance(node.parent, exp.Not):
        yield exp.Not(this=node.copy())


def _where(node: exp.Expression) -> Changed:
    if not isinstance(node.this, exp.And):
        yield _with(node, this=exp.true())


def _between(node: exp.Expression) -> Changed:
    """One of the two bounds is not included."""
    for low, high in ((exp.GT, exp.LTE), (exp.GTE, exp.LT)):
        above, below = (
            comparison(this=node.this.copy(), expression=node.args[bound].copy())
            for comparison, bound in ((low, "low"), (high, "high"))
        )
        yield exp.paren(exp.and_(above, below))


def _literal(node: exp.Expression) -> Changed:
    """A whole number that is a bound, or a distance to one, becomes one more."""
    if node.is_string or not node.name.isdecimal():
        return
    if int(node.name) in _UNITS and isinstance(node.parent, exp.Mul | exp.Div):
        return
    around = node.parent
    is_distance = False
    while isinstance(around, _ARITHMETIC):
        is_distance |= isinstance(around, exp.Add | exp.Sub)
        around = around.parent
    if is_distance or isinstance(around, _COMPARISONS):
        yield _one_more(node)


def _one_more(literal: exp.Expression) -> exp.Expression:
    number = int(literal.name)
    return exp.Literal.number(number + (1 if number < _MICROS else number))


def _coalesce(node: exp.Expression) -> Changed:
    *others, default = node.expressions
    if isinstance(default, exp.Boolean):
        yield _with(node, expressions=[*others, exp.Boolean(this=not default.this)])
    elif isinstance(default, exp.Literal) and not default.is_string:
        yield _with(node, expressions=[*others, _one_more(default)])
    else:
        yield _with(node, expressions=others) if others else node.this.copy()


def _join(node: exp.Expression) -> Changed:
    """Another kind of join, or one without a condition or a column of USING."""
    on, using = node.args.get("on"), node.args.get("using") or []
    kind, side = node.kind, node.side
    if kind in {"SEMI", "ANTI"}:
        yield _with(node, kind={"SEMI": "ANTI", "ANTI": "SEMI"}[kind])
    elif side in {"LEFT", "FULL"}:
        yield _with(node, side=None if side == "LEFT" else "LEFT", kind=None)
    elif (on is not None or using) and not _is_refused_without(node):
        yield _with(node, side="LEFT", kind=None)
    if on is not None and not isinstance(on, exp.And):
        yield _with(node, on=exp.true())
    for column in _left_out(using):
        made = _with(node, using=[other.copy() for other in using if other is not column])
        if kind not in {"SEMI", "ANTI"}:
            # The column would have two sources.
            others = exp.Star(except_=[exp.column(column.copy())])
            made.set(
                "this", exp.select(others).from_(node.this.copy()).subquery(node.alias_or_name)
            )
        yield made


def _is_refused_without(join: exp.Expression) -> bool:
    """Whether a condition that follows refuses a row that the join has no match for."""
    select = join.parent
    own = _columns_of(join.this) - {column.name for column in join.args.get("using") or []}
    where = select.args.get("where") if select else None
    conditions = list(where.this.flatten()) if where and isinstance(where.this, exp.And) else []
    if where and not conditions:
        conditions = [where.this]
    return any(
        column.table == join.alias_or_name or (not column.table and column.name in own)
        for condition in conditions
        for column in _known_columns(condition)
    )


def _known_columns(condition: exp.Expression) -> Iterator[exp.Column]:
    """Yield the columns without which a condition does not hold."""
    inner: exp.Expression = condition.this if isinstance(condition, exp.Not) else condition
    is_not_null = inner is not condition and isinstance(inner, exp.Is)
    if is_not_null and not isinstance(inner.expression, exp.Null):
        return
    if not (is_not_null or isinstance(inner, (*_COMPARISONS, exp.Column, exp.RegexpLike))):
        return
    for column in inner.find_all(exp.Column):
        around = column.parent
        while column is not inner and isinstance(around, _ARITHMETIC):
            around = around.parent
        if column is inner or around is inner:
            yield column


def _columns_of(table: exp.Expression) -> set[str]:
    """The columns that a table, a fact or a step is known to have."""
    if not isinstance(table, exp.Table):
        return set()
    for step in table.root().find_all(exp.CTE):
        if step.alias == table.name:
            return set(step.this.named_selects)
    declared = {**TABLES, **PLANNED, **{name: schema_of(fact) for name, fact in facts().items()}}
    return set(declared[table.name].names) if table.name in declared else set()


def _left_out(keys: list[exp.Expression]) -> Changed:
    """Each column of a key without which it is another one."""
    for key in keys if len(keys) > 1 else ():
        others = {other.name for other in keys if other is not key}
        if not any(key.name in of and others >= {*by} for by, of in DETERMINED.items()):
            yield key


def _select(node: exp.Expression) -> Changed:
    if node.args.get("distinct") is not None:
        yield _with(node, distinct=None)


def _distinct(node: exp.Expression) -> Changed:
    if isinstance(node.parent, exp.AggFunc) and len(node.expressions) == 1:
        yield node.expressions[0].copy()


def _union(node: exp.Expression) -> Changed:
    if node.args.get("distinct"):
        yield _with(node, distinct=False)


def _collected(node: exp.Expression) -> Changed:
    yield exp.ArrayAgg(**node.copy().args)


def _ordered(node: exp.Expression) -> Changed:
    yield _with(node, desc=not node.args.get("desc"))


def _window(node: exp.Expression) -> Changed:
    """One column of PARTITION BY less, if its values are things that are judged apart."""
    keys = node.args.get("partition_by") or []
    for key in _left_out(keys):
        if key.name in _THINGS:
            yield _with(node, partition_by=[other.copy() for other in keys if other is not key])


def _edges(node: exp.Expression) -> Changed:
    """A window that begins or ends one row elsewhere, or at the current row."""
    for edge, side in (("start", "PRECEDING"), ("end", "FOLLOWING")):
        value = node.args.get(edge)
        if isinstance(value, exp.Literal):
            yield _with(node, **{edge: _one_more(value)})
        elif value == "CURRENT ROW":
            inside = {"PRECEDING": "FOLLOWING", "FOLLOWING": "PRECEDING"}[side]
            yield _with(node, **{edge: exp.Literal.number(1), f"{edge}_side": inside})
        elif value == "UNBOUNDED":
            yield _with(node, **{edge: exp.Literal.number(1), f"{edge}_side": side})


_RULES: dict[type[exp.Expression], Callable[[exp.Expression], Changed]] = {
    exp.And: _and,
    exp.Or: _or,
    exp.Not: _not,
    exp.Is: _is,
    exp.Where: _where,
    exp.Having: _where,
    exp.Between: _between,
    exp.Literal: _literal,
    exp.Coalesce: _coalesce,
    exp.Join: _join,
    exp.Select: _select,
    exp.Distinct: _distinct,
    exp.Union: _union,
    exp.ArrayUniqueAgg: _collected,
    exp.Ordered: _ordered,
    exp.Window: _window,
    exp.WindowSpec: _edges,
}
