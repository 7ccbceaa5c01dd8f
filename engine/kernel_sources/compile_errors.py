"""The CUDA C++ compiler's log, turned into an error that a person can act on."""

from __future__ import annotations

import re
from pathlib import Path

from engine.diagnostics import KernelError

_HEAD = re.compile(
    r"^(?P<file>.+?)\((?P<line>\d+)\): (?P<kind>(?:catastrophic )?error|warning|remark)[^:]*: (?P<text>.*)$"
)
# One mistake early in a file makes many later ones; the first few say what to mend.
_SHOWN = 5


def compile_error(log: str, path: Path) -> KernelError:
    """Make the error for a failed compile of `path`: the errors with their source lines, placed at the first one."""
    errors = [block for block in _blocks(log) if "error" in block[0]["kind"]]
    if not errors:
        # Not a mistake in the source: an unknown option or architecture, which the log explains without a place.
        lines = [line.strip() for line in log.splitlines() if line.strip()]
        return KernelError(f"{path.name} must compile, got: {'; '.join(lines) or 'no reason'}", file=str(path))
    count = f"{len(errors)} error{'s' if len(errors) > 1 else ''}"
    shown = [
        "\n".join([f"{Path(head['file']).name}({head['line']}): {head['text']}", *excerpt])
        for head, excerpt in errors[:_SHOWN]
    ]
    if len(errors) > _SHOWN:
        shown.append(f"and {len(errors) - _SHOWN} more")
    first = errors[0][0]
    return KernelError(
        "\n".join([f"{path.name} must compile, got {count}:", *shown]), file=first["file"], line=int(first["line"])
    )


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
