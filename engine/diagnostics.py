"""Diagnostics, which report problems to a person, and the exceptions that Warploom raises."""

import time
from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import ClassVar, Self

import msgspec
from msgspec.structs import force_setattr

#: The most characters of a text that a person is shown at once: a file or a value may have megabytes of text, which no
#: window can lay out in time.
MOST_SHOWN = 8000


def cut(text: str, most: int = MOST_SHOWN) -> str:
    """Return a text, or the beginning of one that has more characters than `most`, with its length.

    `most` must leave room for the length: 40 or more.
    """
    if len(text) <= most:
        return text
    end = f" ... ({len(text)} characters)"
    return text[: most - len(end)] + end


def printable(text: str) -> str:
    """Return a text with escaped control characters, so that a file can't control the terminal."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in "\n\t" else ascii(c)[1:-1] for c in text)


#: What to do about an action that only a trusted patch may take.
TRUST_PATCH = "if you know the patch, trust it: File > Trust, `--trust`, or `load_patch(path, trust=True)` from Python"


class Severity(StrEnum):
    """How bad a problem is: an error keeps the block from running, a warning does not."""

    ERROR = "error"
    WARNING = "warning"


class Source(StrEnum):
    """The part that found a problem."""

    VALIDATION = "validation"  #: the patch: its blocks, connections, values and files
    KERNEL_LOAD = "kernel load"  #: a kernel that is missing, or that the device doesn't load
    COMPILE = "compile"  #: a kernel's source with a mistake in it
    LAUNCH = "launch"  #: the device, while it built or ran the graph
    CAPACITY = "capacity"  #: a full buffer, or full memory
    OCCUPANCY = "occupancy"  #: a launch that leaves much of the device idle
    SENTINEL = "sentinel"  #: a check of the numbers that a connection carries
    ENGINE = "engine"  #: the engine itself, its process, or another engine


class Mend(StrEnum):
    """The single step that would fix a problem, if it is known; an editor offers it as a button."""

    CONNECT = "connect"  #: a required input of a new block, which is incomplete rather than wrong
    CHOOSE = "choose"  #: a value that has no default, such as a file; a new block is incomplete without it
    CONNECT_LIKE = "connect like"  #: an input that determines the shape of a loop
    COPY = "copy"  #: put a copy between the input and its source
    CONVERT = "convert"  #: change the element type between the input and its source
    DISCONNECT = "disconnect"  #: delete the connection into the input
    OVERWRITE = "overwrite"  #: allow a file that the patch has not written to be replaced
    TRUST = "trust"  #: the patch, or the folder of blocks beside it
    RESTART = "restart"  #: the engine
    LIFT_LIMIT = "lift limit"  #: the time limit of kernels
    TRY_AGAIN = "try again"  #: a block that is left out since the device failed in it


class Diagnostic(msgspec.Struct, frozen=True, kw_only=True):
    """One problem, with the place where it can be fixed; `port` is a port or a parameter.

    `message` has the rule and the found value; `expected` and `found` repeat these two in a few words, where that makes
    sense; `remedy` is the instruction, and `mend` the step that does it. `file` and `line` point into a kernel or a
    patch file if the problem is there. `source` names the check that found it. Long texts are cut, and half surrogate
    pairs, as of a file's name that is no UTF-8, are escaped: no message to another process can hold them.
    """

    severity: Severity
    message: str
    node: str | None = None
    port: str | None = None
    remedy: str = ""
    file: str | None = None
    line: int | None = None
    expected: str = ""
    found: str = ""
    mend: Mend | None = None
    source: Source = Source.VALIDATION

    def __post_init__(self) -> None:
        for name in ("message", "remedy", "expected", "found"):
            text: str = getattr(self, name)
            if len(text) > MOST_SHOWN or not text.isascii():
                force_setattr(self, name, cut(text).encode(errors="backslashreplace").decode())

    @property
    def is_incomplete(self) -> bool:
        """True when nothing is wrong: a block waits for connections or values that it needs."""
        return self.mend in (Mend.CONNECT, Mend.CHOOSE)

    def __str__(self) -> str:
        place = ".".join(part for part in (self.node, self.port) if part)
        where = f" {place}:" if place else ""
        remedy = f" ({self.remedy})" if self.remedy else ""
        return printable(f"{self.severity}:{where} {self.message}{remedy}")


class Sighting(msgspec.Struct, frozen=True):
    """When a diagnostic was found first and last, in seconds since the epoch, and how often.

    A lasting problem is counted each time it appears; a problem of frames is counted in each frame that was inspected.
    With `is_fading`, frames no longer find it, and it is shown for a moment more.
    """

    first_s: float
    last_s: float
    count: int = 1
    is_fading: bool = False

    @classmethod
    def now(cls) -> Self:
        """Return the sighting of a problem found now, for the first time."""
        now_s = time.time()
        return cls(now_s, now_s)


def error(message: str, **place: str | int | None) -> Diagnostic:
    """Return an error diagnostic; `place` takes the other fields, such as node and port."""
    return Diagnostic(severity=Severity.ERROR, message=message, **place)  # type: ignore[arg-type]  # msgspec checks them


def warning(message: str, **place: str | int | None) -> Diagnostic:
    """Return a warning diagnostic; `place` takes the other fields, such as node and port."""
    return Diagnostic(severity=Severity.WARNING, message=message, **place)  # type: ignore[arg-type]  # msgspec checks them


class WarploomError(Exception):
    """Base class of the errors that Warploom raises on purpose; the text is meant for a person."""


class PatchError(WarploomError):
    """The patch or its file is wrong; `remedy` is the instruction, if the caller knows a better one."""

    def __init__(self, message: str = "", remedy: str = "") -> None:
        super().__init__(message)
        self.remedy = remedy


class Incomplete(PatchError):
    """A block needs a value that only a person can give, such as a file: nothing is wrong, but it can't run yet."""

    def __init__(self, parameter: str, rule: str) -> None:
        super().__init__(f"{parameter} must {rule}, got nothing")
        self.parameter = parameter


class KernelError(WarploomError):
    """A kernel's source does not compile or load.

    `file` and `line` name the first mistake when they are known.
    """

    source: ClassVar = Source.KERNEL_LOAD
    #: What to do, if that isn't to correct the kernel.
    remedy: str | None = None
    #: The step that does it, and what was found, in a few words.
    mend: Mend | None = None
    found: str = ""
    #: Every mistake that a compiler found: its file, its line from 1, and its text.
    mistakes: tuple[tuple[str, int, str], ...] = ()

    def __init__(
        self, message: str, *, file: str | None = None, line: int | None = None, remedy: str | None = None
    ) -> None:
        super().__init__(message)
        self.file = file
        self.line = line
        if remedy is not None:
            self.remedy = remedy


class CompileError(KernelError):
    """A compiler refuses a kernel's source."""

    source: ClassVar = Source.COMPILE
    #: Every error by file and line, with all that the compiler wrote below it; the files may be names made up by #line.
    errors: tuple[tuple[str, int, str], ...] = ()


class TranslatorBug(KernelError):
    """Warploom itself failed on a kernel that may be correct."""

    remedy = ""


class CompilerCrash(CompileError):
    """A compiler died while it compiled a kernel, or was stopped at a limit."""

    remedy = "change the kernel: its compiler can't compile this version"


class DeviceError(WarploomError):
    """The device refused or failed; after a fault on a GPU the process must end before it works again.

    `reason` is the fault in a few words, if the device has some for it.
    """

    reason = ""


class KernelFault(DeviceError):
    """A kernel was aborted: it did something that is not allowed, or it was stopped.

    `ptx_line`, `source_file` and `source_line` are its place, if known; `thread` and `thread_block` are positions in
    the thread block and the grid; `address` is that of a bad access, otherwise None. `is_over_limit`: the time limit of
    kernels has stopped it. `node` is its node in the device's graph, if it ran in one.
    """

    node: int | None = None

    def __init__(
        self,
        message: str,
        *,
        kernel: str,
        ptx_line: int | None = None,
        source_file: str | None = None,
        source_line: int | None = None,
        thread: tuple[int, int, int] | None = None,
        thread_block: tuple[int, int, int] | None = None,
        address: int | None = None,
        is_over_limit: bool = False,
    ) -> None:
        super().__init__(message)
        self.is_over_limit = is_over_limit
        self.kernel = kernel
        self.ptx_line = ptx_line
        self.source_file = source_file
        self.source_line = source_line
        self.thread = thread
        self.thread_block = thread_block
        self.address = address


class LoopStopped(DeviceError):
    """A loop was stopped; `node` is its node in the device's graph, `turns` the number of completed turns, `why` the
    reason.

    `is_over_limit`: the time limit of kernels has stopped it.
    """

    def __init__(self, node: int, turns: int, why: str, *, is_over_limit: bool = False) -> None:
        super().__init__(f"loop of graph node {node} was stopped {why}, after {turns:,} turns")
        self.node, self.turns, self.why, self.is_over_limit = node, turns, why, is_over_limit


def raise_errors(diagnostics: Iterable[Diagnostic]) -> None:
    """Raise GraphValidationError if there is an error among some diagnostics."""
    found = list(diagnostics)
    if errors := [item for item in found if item.severity is Severity.ERROR]:
        raise GraphValidationError(errors, [item for item in found if item.severity is not Severity.ERROR])


class GraphValidationError(WarploomError):
    """The patch cannot become a graph; `errors` holds one diagnostic for each reason, `warnings` the other findings."""

    def __init__(self, errors: Sequence[Diagnostic], warnings: Sequence[Diagnostic] = ()) -> None:
        super().__init__("; ".join(str(item) for item in errors))
        self.errors = list(errors)
        self.warnings = list(warnings)
