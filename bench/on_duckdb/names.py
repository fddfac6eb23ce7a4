"""Resolves names to columns of a frame, and names unnamed columns."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from bench.on_duckdb.columns import named

_KNOWN = "attribute"


@dataclass(frozen=True)
class Attribute:
    """A column of a frame.

    Attributes:
        name: what the checks call it.
        of: the aliases of the frames that it came from.
        key: what it is called in SQL, unique in its frame.
        side: the input of a join that it belongs to, while the join is written.
    """

    name: str
    of: frozenset[str] = frozenset()
    key: str = ""
    side: str = ""

    @property
    def tree(self) -> exp.Expression:
        """The column in SQL."""
        table = exp.to_identifier(self.side) if self.side else None
        return exp.Column(this=exp.to_identifier(self.key, quoted=True), table=table)


def keyed(attributes: Sequence[Attribute]) -> tuple[Attribute, ...]:
    """The attributes, each with a key of its own."""
    taken: set[str] = set()
    told = []
    for one in attributes:
        key = one.name
        while key.lower() in taken:
            key += "_"
        taken.add(key.lower())
        told.append(Attribute(one.name, one.of, key))
    return tuple(told)


def known(attribute: Attribute) -> exp.Expression:
    """A tree that means this attribute, whatever else has its name."""
    tree = attribute.tree
    tree.meta[_KNOWN] = attribute
    return tree


def find(tree: exp.Expression, attributes: Sequence[Attribute]) -> Attribute | None:
    """The attribute that a tree names, if it names one.

    Raises:
        LookupError: it names several.
    """
    if not isinstance(tree, exp.Column):
        return None
    if _KNOWN in tree.meta:
        attribute: Attribute = tree.meta[_KNOWN]
        return attribute
    of, name = tree.table.lower(), tree.name.lower()
    found = [one for one in attributes if one.name.lower() == name and (not of or of in one.of)]
    if len(found) > 1:
        raise LookupError(f"{tree.sql()} may be any of {len(found)} columns")
    return found[0] if found else None


def resolved(tree: exp.Expression, attributes: Sequence[Attribute]) -> exp.Expression:
    """The tree with each column as SQL calls it, and each field of a struct named.

    Raises:
        LookupError: there is no such column.
    """

    def one(node: exp.Expression) -> exp.Expression:
        if isinstance(node, exp.Struct):
            return _struct(node, attributes)
        if isinstance(node, exp.ArraysZip):
            node.meta["names"] = [name_of(array) for array in node.expressions or [node.this]]
        if isinstance(node, exp.Column) and not isinstance(node.this, exp.Star):
            return _column(node, attributes)
        return node

    return tree.copy().transform(one)


def name_of(tree: exp.Expression) -> str:
    """Return the name of a column in Spark."""
    if isinstance(tree, exp.Alias):
        return str(tree.alias)
    if _KNOWN in tree.meta:
        return str(tree.meta[_KNOWN].name)
    if isinstance(tree, exp.Column):
        return str(tree.name)
    if isinstance(tree, exp.Dot):
        return str(tree.expression.name)
    return "col" if isinstance(tree, exp.Explode) else str(tree.sql())


def _column(node: exp.Expression, attributes: Sequence[Attribute]) -> exp.Expression:
    """A column, or a field of one that is a struct."""
    if _KNOWN in node.meta:
        tree: exp.Expression = node.meta[_KNOWN].tree
        return tree
    parts = [part.name for part in node.parts]
    for taken in range(min(2, len(parts)), 0, -1):
        attribute = find(named(".".join(parts[:taken])), attributes)
        if attribute is not None:
            told = attribute.tree
            for name in parts[taken:]:
                told = exp.Dot(this=told, expression=exp.to_identifier(name))
            return told
    raise LookupError(f"no column {node.sql()} among {[one.name for one in attributes]}")


def _struct(struct: exp.Expression, attributes: Sequence[Attribute]) -> exp.Expression:
    fields = []
    for place, one in enumerate(struct.expressions, 1):
        if isinstance(one, exp.PropertyEQ):
            name, value = one.this.name, one.expression
        elif isinstance(one, exp.Alias | exp.Column | exp.Dot):
            name, value = name_of(one), one.unalias()
        else:
            name, value = f"col{place}", one
        told = exp.to_identifier(name, quoted=True)
        fields.append(exp.PropertyEQ(this=told, expression=resolved(value, attributes)))
    return exp.Struct(expressions=fields)
