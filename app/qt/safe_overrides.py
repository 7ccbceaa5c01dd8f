"""Keeps an error in a method that Qt calls from ending the program."""

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

T = TypeVar("T", bound=type)


def safe_overrides(cls: T) -> T:
    """Let errors in the class's overrides of Qt methods reach `sys.excepthook`, as errors in slots do.

    An error raised in C code, such as that of `[].remove(1)`, is only normalised when Python catches it. PySide 6.10 on
    Python 3.11 gets the incomplete error from an override, and crashes.
    """
    overridden = {
        name
        for base in cls.__mro__
        if not _is_qt(base) and base is not object
        for name, method in vars(base).items()
        if callable(method) and any(name in vars(qt) for qt in cls.__mro__ if _is_qt(qt))
    }
    for name in overridden - {"__init__", "__new__"}:
        setattr(cls, name, _completing_errors(getattr(cls, name)))
    return cls


def _is_qt(cls: type) -> bool:
    return cls.__module__.startswith(("PySide6.", "Shiboken"))


def _completing_errors(method: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(method)
    def call(*args: Any) -> Any:
        try:
            return method(*args)
        except Exception:  # catching the error completes it
            raise

    return call
