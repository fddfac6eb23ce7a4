"""JSON of classes that derive from one tagged base: the tag says which of them it is."""

from functools import reduce
from operator import or_
from typing import Any, TypeVar

import msgspec

_T = TypeVar("_T", bound=msgspec.Struct)


def decoder_of(base: type[_T]) -> msgspec.json.Decoder[_T]:
    """Return a decoder of every class that derives from `base` directly, and is defined by now."""
    union: Any = reduce(or_, base.__subclasses__())
    return msgspec.json.Decoder(union)
