"""The end of a command: its exit status, the report of a failure, and its JSON object, even after a failure."""

import errno
import json
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import click
import msgspec

from warploom.app.exit_status import DEVICE_FAILED, INTERRUPTED, PATCH_WRONG
from warploom.app.logs import details_place
from warploom.app.qt.faults import fault_text
from warploom.engine.diagnostics import (
    DeviceError,
    Diagnostic,
    GraphValidationError,
    KernelError,
    Severity,
    Source,
    WarploomError,
    error,
)

_log = logging.getLogger(__name__)


@contextmanager
def json_object(wanted: bool, make: Callable[[], dict[str, Any]]) -> Iterator[None]:
    """Print the object that `make` returns after the work in the `with` block, if `wanted`.

    When the work fails, the object is printed too, with the failure in its "diagnostics", and the program ends.
    """
    try:
        yield
    except BrokenPipeError:
        raise  # the reader of the output, such as `head`, has seen enough, and click ends the program
    except BaseException as problem:
        if wanted:
            raise SystemExit(end(problem, make())) from problem
        raise
    if wanted:
        click.echo(json.dumps(make()))


def end(problem: BaseException, reported: dict[str, Any] | None = None) -> int:
    """Report a failure on stderr, and on stdout in the object `reported`. Return the exit status."""
    diagnostics, status = explain(problem)
    if reported is not None:
        known = reported.get("diagnostics", ())
        if not any(item["severity"] == "error" for item in known):  # otherwise the engine has reported the failure
            reported["diagnostics"] = [*known, *msgspec.to_builtins(diagnostics)]
        click.echo(json.dumps(reported))
    if isinstance(problem, click.ClickException):
        problem.show()
    else:
        for item in diagnostics:
            click.echo(str(item), err=True)
            if item.severity is Severity.ERROR and status != INTERRUPTED:
                _log.error("%s", item.message)
    return status


def explain(problem: BaseException) -> tuple[list[Diagnostic], int]:
    """Return the message of a failure, and the exit status. The details of an unexpected failure are logged."""
    match problem:
        case click.ClickException():
            return [error(problem.format_message())], problem.exit_code
        case KeyboardInterrupt() | click.Abort():
            return [error("command must run to its end, got an interrupt")], INTERRUPTED
        case GraphValidationError():
            return [*problem.errors, *problem.warnings], PATCH_WRONG
        case KernelError():
            return [error(str(problem), file=problem.file, line=problem.line, source=problem.source)], PATCH_WRONG
        case DeviceError():
            return [error(str(problem), source=Source.ENGINE)], DEVICE_FAILED
        case WarploomError():
            return [error(str(problem))], PATCH_WRONG
        case OSError() if problem.errno == errno.ENOSPC:
            return [error(f"disk must have space left, got {problem}")], PATCH_WRONG
        case _:
            _log.critical("the program was ended by an unexpected error", exc_info=problem)
            return [error(fault_text(problem, details_place()))], PATCH_WRONG
