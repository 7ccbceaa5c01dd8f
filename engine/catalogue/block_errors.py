"""An exception of a user's block code as a diagnostic, with the line to fix."""

import traceback
from contextlib import suppress
from pathlib import Path

from msgspec.structs import replace

from warploom.engine.blocktypes.block import Block
from warploom.engine.descriptions.checks import BlockCallError, BlockDefinitionError
from warploom.engine.descriptions.handles import BufferHandle
from warploom.engine.diagnostics import Diagnostic, Incomplete, KernelError, Mend, PatchError, WarploomError, error
from warploom.engine.ops import OpError
from warploom.engine.user_code.limits import TookTooLong

#: Blocks whose code the user can't fix.
_SHIPPED = Path(__file__).resolve().parents[2] / "blocks"
#: The most characters that are shown of an exception's message.
LONGEST = 2000


class ReportedError(WarploomError):
    """A problem of a block's code in another process, as a diagnostic."""

    def __init__(self, diagnostic: Diagnostic) -> None:
        super().__init__(diagnostic.message)
        self.diagnostic = diagnostic


def code_diagnostic(problem: BaseException, what: str, near: Path | None, node: str | None = None) -> Diagnostic:
    """Return an error for an exception of `what`, at the last line that ran in the folder of `near` or below it.

    Warploom's own errors keep their text; other exceptions are shown with their names.
    """
    if isinstance(problem, ReportedError):
        return replace(problem.diagnostic, node=node)
    if isinstance(problem, Incomplete):
        return _incomplete(problem, node)
    try:
        file, line = _place(problem, near)
    except Exception:  # noqa: BLE001 - an exception class of the user's may fail here too
        file, line = None if near is None else str(near), None
    shown = _text(problem)
    if isinstance(problem, (BlockDefinitionError, WarploomError)):
        text = shown
    elif isinstance(problem, TookTooLong):
        text = f"{what} must {problem.rule}, got stopped in the middle"
    else:
        text = f"{what} raised {type(problem).__name__}{': ' if shown else ''}{shown}"
    if isinstance(problem, WarploomError) and not isinstance(problem, BlockCallError):
        # An error that a block raises on purpose, for example about a missing file.
        if near is not None and near.is_relative_to(_SHIPPED):
            return error(text, node=node)
        return error(text, node=node, file=file, line=line, remedy="give it other values, or correct its code")
    if file is not None and line is not None:
        text += f" ({Path(file).name}:{line})"
    return error(text, node=node, file=file, line=line, remedy=_remedy(problem, near))


def interface_diagnostic(problem: BaseException, block_type: type[Block]) -> Diagnostic:
    """Return an error with the reason why an adaptive type has no interface for a node's values."""
    if isinstance(problem, KernelError):
        return kernel_diagnostic(problem)
    if isinstance(problem, OpError):
        places = (f"op {fault.node}: {fault.message}" if fault.node else fault.message for fault in problem.errors)
        return error("; ".join(places), remedy="give the block other values")
    if isinstance(problem, PatchError) and not isinstance(problem, Incomplete):
        return error(str(problem), remedy=problem.remedy or "give the block other values")
    return code_diagnostic(problem, f"interface of {block_type.id}", block_type.source_file())


def kernel_diagnostic(problem: KernelError, node: str | None = None) -> Diagnostic:
    """Return a kernel's error as a diagnostic on the node that uses it."""
    remedy = problem.remedy
    if remedy is None:
        remedy = f"correct the kernel{' and save it' if problem.file else ''}"
    place = {"node": node, "file": problem.file, "line": problem.line, "found": problem.found}
    return error(str(problem), **place, remedy=remedy, mend=problem.mend, source=problem.source)


def _incomplete(problem: Incomplete, node: str | None) -> Diagnostic:
    remedy = f"choose the {problem.parameter}"
    return error(str(problem), node=node, port=problem.parameter, remedy=remedy, mend=Mend.CHOOSE)


def _text(problem: BaseException) -> str:
    try:
        text = str((problem.msg or "") if isinstance(problem, SyntaxError) else problem)
        return str.__str__(text)[:LONGEST].encode(errors="replace").decode()
    except TookTooLong:
        raise
    except BaseException:  # noqa: BLE001 - as above
        return "its message can't be read"


def _remedy(problem: BaseException, near: Path | None) -> str:
    if isinstance(problem, ModuleNotFoundError) and problem.name and near is not None:
        name = problem.name.partition(".")[0]
        with suppress(OSError):  # the name may be too long for a path
            if (near.parent / f"{name}.py").is_file() or (near.parent / name).is_dir():
                return f"it lies beside the block, so write `from .{name} import ...`, with the dot"
    if type(problem) is AttributeError and issubclass(type(port := problem.obj), BufferHandle):
        assert isinstance(port, BufferHandle)  # which would run code of other objects above
        known = ", ".join(name for name in dir(type(port)) if name[0] != "_")
        return f"a port has {known} in `describe`, such as {port.name}.dim(0)"
    return "correct the block's code and save it"


def _place(problem: BaseException, near: Path | None) -> tuple[str | None, int | None]:
    if isinstance(problem, SyntaxError) and problem.filename and problem.lineno:
        return problem.filename, problem.lineno
    if near is None:
        return None, None
    stack = problem.stack if isinstance(problem, TookTooLong) else ()
    for frame in reversed(stack or traceback.extract_tb(problem.__traceback__)):
        if Path(frame.filename).is_relative_to(near.parent):
            return frame.filename, frame.lineno
    return str(near), None
