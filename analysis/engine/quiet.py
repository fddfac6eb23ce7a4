"""Keeps what Spark's launcher and JVM print out of the terminal."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from tempfile import TemporaryFile

_STREAMS = (1, 2)
_TAIL_BYTES = 4000


@contextmanager
def quiet() -> Iterator[None]:
    """Programs that are started meanwhile print into a temporary file, as long as they run.

    If the block raises an exception, the last lines of the file are printed on standard error: they
    may say why a program ended.
    """
    kept = [(stream, os.dup(stream)) for stream in _STREAMS]
    with TemporaryFile() as file:
        try:
            for stream in _STREAMS:
                os.dup2(file.fileno(), stream)
            yield
        except BaseException:
            _restore(kept)
            kept = []
            sys.stderr.write(_tail(file.fileno()))
            raise
        finally:
            _restore(kept)


def _restore(kept: list[tuple[int, int]]) -> None:
    for stream, copy in kept:
        os.dup2(copy, stream)
        os.close(copy)


def _tail(file: int) -> str:
    size = os.fstat(file).st_size
    content = os.pread(file, _TAIL_BYTES, max(0, size - _TAIL_BYTES))
    return content.decode(errors="replace")
