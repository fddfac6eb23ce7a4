"""Imports a scenario's file by its path, and leaves nothing beside it."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType


def load(file: Path, name: str) -> ModuleType:
    """Import a file as a module of this name.

    The name is taken even if the search path has another module of it. No folder `__pycache__` is
    made beside a user's file.

    Raises:
        ImportError: it is no Python file; or any exception of the file.
    """
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise ImportError(f"{file} is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    writes, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    finally:
        sys.dont_write_bytecode = writes
    return module
