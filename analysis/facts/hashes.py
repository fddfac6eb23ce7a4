"""Java's hashes, by which Kafka places groups."""


def abs_java_hash(text: str) -> int:
    """The absolute value of Java's `String.hashCode`, as `Utils.abs` of Kafka takes it."""
    hashed = 0
    units = text.encode("utf-16-be")
    for index in range(0, len(units), 2):
        hashed = (31 * hashed + int.from_bytes(units[index : index + 2], "big")) & 0xFFFFFFFF
    signed = hashed - (1 << 32) if hashed >= 1 << 31 else hashed
    return 0 if signed == -(1 << 31) else abs(signed)
