"""The commands of workers: each is a method of its role, which the driver calls with its types.

On an object a command is the method. On the class, for the driver, it takes the same arguments and
returns a `Call`, and `WorkerService.call` returns what the method returns in the worker:

    worker.call(ObserverRole.delete_topic("orders"))

A call is a line of JSON: `{"request": 7, "do": "delete_topic", "arguments": {"topic": "orders"}}`.
"""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from types import MethodType
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar, get_type_hints, overload

import msgspec

from contract.errors import WorkerError

P = ParamSpec("P")
T = TypeVar("T")


class Line(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A call on a worker's standard input; the worker responds with its number."""

    request: int
    do: str
    arguments: msgspec.Raw


@dataclass(frozen=True)
class Call(Generic[T]):
    """A command with its arguments; T is the type of its result."""

    command: "command[..., T]"
    arguments: dict[str, Any]

    @property
    def what(self) -> str:
        """The command in words."""
        return self.command.name.replace("_", " ")

    def line(self, request: int) -> str:
        """Return the line that is sent."""
        arguments = msgspec.Raw(msgspec.json.encode(self.arguments))
        return msgspec.json.encode(Line(request, self.command.name, arguments)).decode()

    def result(self, answered: Any) -> T:
        """Return the result from plain lists, dicts and scalars of JSON."""
        result: T = msgspec.convert(answered, self.command.result, str_keys=True)
        return result


class command(Generic[P, T]):  # noqa: N801 - a decorator, as `property` is
    """Declares a method of a role as a command. Its types are those that JSON and msgspec have."""

    def __init__(self, method: Callable[Concatenate[Any, P], T]) -> None:
        """`method` has a docstring, and types for each parameter and the result."""
        self.method = method
        self.name = method.__name__
        self.__doc__ = method.__doc__

    @overload
    def __get__(self, role: None, kind: type) -> Callable[P, Call[T]]: ...

    @overload
    def __get__(self, role: object, kind: type) -> Callable[P, T]: ...

    def __get__(self, role: object | None, kind: type) -> Callable[P, Any]:
        """Return the method in a worker, and what makes a `Call` in the driver."""
        return self._call if role is None else MethodType(self.method, role)

    def carried_out(self, role: object, arguments: msgspec.Raw) -> T:
        """Call the method with arguments as they were sent.

        Raises:
            WorkerError: they are not of its parameters; names the first wrong one.
        """
        try:
            given = msgspec.json.decode(arguments, type=self._parameters)
        except msgspec.ValidationError as error:
            raise WorkerError(f"{self.name} refuses its arguments: {error}") from None
        called: Any = self.method
        result: T = called(role, **msgspec.structs.asdict(given))
        return result

    @cached_property
    def result(self) -> Any:
        """The type of the result."""
        return get_type_hints(self.method)["return"]

    @cached_property
    def _signature(self) -> inspect.Signature:
        signature = inspect.signature(self.method)
        return signature.replace(parameters=list(signature.parameters.values())[1:])

    @cached_property
    def _parameters(self) -> type[msgspec.Struct]:
        types = get_type_hints(self.method)
        return msgspec.defstruct(
            self.name,
            [
                (name, types[name])
                if parameter.default is inspect.Parameter.empty
                else (name, types[name], parameter.default)
                for name, parameter in self._signature.parameters.items()
            ],
            kw_only=True,
            forbid_unknown_fields=True,
        )

    def _call(self, *args: P.args, **kwargs: P.kwargs) -> Call[T]:
        return Call(self, dict(self._signature.bind(*args, **kwargs).arguments))


def command_named(name: str, role: type) -> "command[..., Any] | None":
    """Return a command of a role by its name; None if the role has none of that name."""
    found = inspect.getattr_static(role, name, None)
    return found if isinstance(found, command) else None
