"""The log of NVRTC as errors and warnings with file and line."""

import re
from collections.abc import Collection
from pathlib import Path

from warploom.engine.diagnostics import CompileError

_HEAD = re.compile(
    r"^(?P<file>.+?)\((?P<line>\d+)\): (?P<kind>(?:catastrophic )?error|warning|remark)[^:]*: (?P<text>.*)$"
)
#: The error about a file that can't be opened, with and without `no_files`.
_UNREADABLE = re.compile(r'((?:cannot|could not) open source file "([^"\n]*)")(?:: Too many open files)?')
# One mistake causes many later errors; the first few show what to fix.
_SHOWN = 5


class UnreadableHeader(CompileError):
    """A source includes a file that the compiler did not get; `name` is what the source calls it."""

    def __init__(self, message: str, *, name: str = "") -> None:
        super().__init__(message)
        self.name = name


def compile_error(log: str, path: Path, known: Collection[str] | None = None) -> CompileError:
    """Return the error for a failed compile of `path`: the errors with their lines, at the first one's line.

    If `known` has the files that the compiler got, there is no file and line in another one, which a `#line` may name.
    """
    log, unreadable = _UNREADABLE.sub(r"\1", log), _UNREADABLE.search(log)
    errors = [block for block in _blocks(log) if "error" in block[0]["kind"]]
    if not errors:
        # The source has no mistake: an option or the architecture is unknown, and the log explains it.
        lines = [line.strip() for line in log.splitlines() if line.strip()]
        return CompileError(f"{path.name} must compile, got: {'; '.join(lines) or 'no reason'}", file=in_file(path))
    count = f"{len(errors)} error{'s' if len(errors) > 1 else ''}"
    shown = [
        "\n".join([f"{Path(head['file']).name}({head['line']}): {head['text']}", *excerpt])
        for head, excerpt in errors[:_SHOWN]
    ]
    if len(errors) > _SHOWN:
        shown.append(f"and {len(errors) - _SHOWN} more")
    first = errors[0][0]
    text = "\n".join([f"{path.name} must compile, got {count}:", *shown])
    problem = CompileError(text) if known is None or unreadable is None else UnreadableHeader(text, name=unreadable[2])
    problem.errors = tuple(
        (head["file"], int(head["line"]), "\n".join([head["text"], *excerpt])) for head, excerpt in errors
    )
    problem.mistakes = tuple(
        (head["file"], int(head["line"]), head["text"]) for head, _ in errors if known is None or head["file"] in known
    )
    if known is None or first["file"] in known:
        problem.file, problem.line = in_file(Path(first["file"])), int(first["line"])
    return problem


def warnings_in(log: str) -> list[tuple[str, int, str]]:
    """Return the compiler's warnings in the log of a compile: the file, the line from 1 and the text of each."""
    found = (head for head, _ in _blocks(log) if head["kind"] == "warning")
    return [(head["file"], int(head["line"]), head["text"]) for head in found]


def in_file(path: Path) -> str | None:
    """Return the file to open for a mistake; None for a text without a file, and for a header of NVRTC."""
    return str(path) if path.is_absolute() else None


def _blocks(log: str) -> list[tuple[re.Match[str], list[str]]]:
    """Split a log into messages, each with the source excerpt below it."""
    blocks: list[tuple[re.Match[str], list[str]]] = []
    inside = False
    for line in log.splitlines():
        head = _HEAD.match(line)
        if head:
            blocks.append((head, []))
            inside = True
        elif not line.strip():
            inside = False
        elif inside:
            blocks[-1][1].append(line)
    return blocks
