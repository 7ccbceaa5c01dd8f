"""Keeps an error in a method that Qt calls from ending the program."""

from collections.abc import Callable, Iterator
from functools import wraps
from types import FunctionType
from typing import Any

from shiboken6 import Shiboken


def protect_overrides() -> None:
    """Let errors in overrides of Qt methods reach `sys.excepthook`, as errors in slots do, for all classes so far.

    An error raised in C code, such as that of `[].remove(1)`, is only normalised when Python catches it. PySide 6.10 on
    Python 3.11 gets the incomplete error from an override, and crashes.
    """
    for cls in _python_classes(Shiboken.Object):
        inherited = {name for base in cls.__mro__ if _is_qt(base) for name in vars(base)} - {"__init__", "__new__"}
        for name, method in tuple(vars(cls).items()):
            if name in inherited and isinstance(method, FunctionType) and not hasattr(method, "__wrapped__"):
                setattr(cls, name, _completing_errors(method))


def _python_classes(base: type[object]) -> Iterator[type[object]]:
    for cls in base.__subclasses__():
        if not _is_qt(cls):
            yield cls
        yield from _python_classes(cls)


def _is_qt(cls: type) -> bool:
    return cls.__module__.startswith(("PySide6.", "Shiboken"))


def _completing_errors(method: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(method)
    def call(*args: Any, **named: Any) -> Any:
        try:
            return method(*args, **named)
        except Exception:  # catching the error completes it
            raise

    return call
