"""An exception of a user's block code as a diagnostic, with the line to mend."""

from __future__ import annotations

import traceback
from pathlib import Path

from engine.blocktypes.declarations import BlockDefinitionError
from engine.catalogue import loading_thread
from engine.diagnostics import Diagnostic, WarploomError, error


def code_diagnostic(problem: BaseException, what: str, near: Path | None, node: str | None = None) -> Diagnostic:
    """Return an error that says what `what` raised, at the last line that ran in the folder of `near` or below it.

    Warploom's own errors keep their text; other exceptions are given with their names.
    """
    file, line = _place(problem, near)
    said = _said(problem)
    if isinstance(problem, (BlockDefinitionError, WarploomError)):
        text = said
    elif isinstance(problem, loading_thread.TookTooLong):
        text = f"{what} must be done within {loading_thread.LIMIT_S:g} s, got stopped in the middle"
    else:
        text = f"{what} raised {type(problem).__name__}{': ' if said else ''}{said}"
    if file is not None and line is not None:
        text += f" ({Path(file).name}:{line})"
    return error(text, node=node, file=file, line=line, remedy=_remedy(problem, near))


def _said(problem: BaseException) -> str:
    try:
        return str((problem.msg or "") if isinstance(problem, SyntaxError) else problem)
    except Exception:  # noqa: BLE001 - an exception class of the user's may fail here too
        return "what it says can't be read"


def _remedy(problem: BaseException, near: Path | None) -> str:
    if isinstance(problem, ModuleNotFoundError) and problem.name and near is not None:
        name = problem.name.partition(".")[0]
        if (near.parent / f"{name}.py").is_file() or (near.parent / name).is_dir():
            return f"it lies beside the block, so write `from .{name} import ...`, with the dot"
    return "mend the block's code and save it"


def _place(problem: BaseException, near: Path | None) -> tuple[str | None, int | None]:
    if isinstance(problem, SyntaxError) and problem.filename and problem.lineno:
        return problem.filename, problem.lineno
    if near is None:
        return None, None
    for frame in reversed(traceback.extract_tb(problem.__traceback__)):
        if Path(frame.filename).is_relative_to(near.parent):
            return frame.filename, frame.lineno
    return str(near), None
