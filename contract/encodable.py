"""Texts of a scenario in UTF-8: what can't be encoded, such as half of a pair, is escaped."""

from typing import Any

import msgspec

_ENCODER = msgspec.json.Encoder()


def encodable(text: str) -> str:
    """The text, with each character that UTF-8 has no code for as its escape in Python."""
    return text.encode(errors="backslashreplace").decode()


def as_json(value: Any) -> bytes:
    """A value as JSON, whatever its texts have."""
    try:
        return _ENCODER.encode(value)
    except UnicodeEncodeError:
        return _ENCODER.encode(_escaped(msgspec.to_builtins(value)))


def _escaped(value: Any) -> Any:
    if isinstance(value, str):
        return encodable(value)
    if isinstance(value, dict):
        return {_escaped(key): _escaped(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_escaped(one) for one in value]
    return value
