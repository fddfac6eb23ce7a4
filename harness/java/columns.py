"""Fields of many Java objects at once: a call of the JVM for each object takes 2 us or more.

The objects are read by Java's streams, with functions that are made of method handles.
"""

from array import array
from typing import Any

from harness.java.jvm import java_class

_SEPARATOR = "\0"


def method(kind: Any, name: str, *parameters: Any) -> Any:
    """Return the handle of a public method of a class or interface, by its parameters' classes."""
    return _lookup().unreflect(
        kind.class_.getMethod(name, [parameter.class_ for parameter in parameters])
    )


def then(first: Any, second: Any) -> Any:
    """Return the handle that gives the result of one to another."""
    returned = second.type().parameterType(0)
    return _handles().filterReturnValue(
        first.asType(first.type().changeReturnType(returned)), second
    )


def bind_arguments(handle: Any, *arguments: Any) -> Any:
    """Return a handle whose arguments after the first are these."""
    return _handles().insertArguments(handle, 1, list(arguments))


def numbers_by(handle: Any) -> Any:
    """Return the function for `numbers`: of integers, booleans or boxed integers."""
    long = java_class("java.lang.Long").TYPE
    cast = _handles().explicitCastArguments(handle, handle.type().changeReturnType(long))
    return _function("ToLongFunction", cast)


def texts_by(handle: Any) -> Any:
    """Return the function for `texts`: of any objects, as `String.valueOf` has them."""
    as_text = method(java_class("java.lang.String"), "valueOf", java_class("java.lang.Object"))
    return _function("Function", then(handle, as_text))


def function_by(handle: Any) -> Any:
    """Return a `java.util.function.Function`."""
    return _function("Function", handle)


def numbers(stream: Any, function: Any) -> "array[int]":
    """Return a number of each object of a stream."""
    found = array("q")
    found.frombytes(memoryview(stream.mapToLong(function).toArray()).tobytes())
    return found


def texts(stream: Any, function: Any) -> list[str] | None:
    """Return the texts of a stream of one object or more; None if one has a null character."""
    joining = java_class("java.util.stream.Collectors").joining(_SEPARATOR)
    mapped = stream.map(function).toList()
    found = str(mapped.stream().collect(joining)).split(_SEPARATOR)
    return found if len(found) == len(mapped) else None


def _function(interface: str, handle: Any) -> Any:
    proxies = java_class("java.lang.invoke.MethodHandleProxies")
    return proxies.asInterfaceInstance(java_class(f"java.util.function.{interface}").class_, handle)


def _handles() -> Any:
    return java_class("java.lang.invoke.MethodHandles")


def _lookup() -> Any:
    return _handles().publicLookup()
