"""compute-sanitizer: an engine's process that runs under its memcheck, and what it reports first."""

import re
import shutil
from collections.abc import Sequence
from pathlib import Path

import msgspec

_PROGRAM = "compute-sanitizer"
# "at scale(float*, int)+0x90 in /patches/scale.cu:3", in older versions "at 0x90 in /patches/scale.cu:3:scale(...)".
_PLACE = re.compile(
    r"at (?:(?P<kernel>[^\n]+?)\+)?0x[0-9a-f]+(?: in (?P<file>[^\n]+?):(?P<line>\d+)(?::(?P<old>[^\n]+))?)?$", re.M
)
_THREAD = re.compile(r"by thread \((\d+,\d+,\d+)\) in block \((\d+,\d+,\d+)\)")
_CALL_FAILED = "Program hit "


class Report(msgspec.Struct, frozen=True):
    """The first error of a kernel: what it did, its name, its place in the source, and one thread that did it."""

    text: str
    kernel: str
    file: str | None
    line: int | None
    thread: str


def is_installed() -> bool:
    """True if compute-sanitizer is on the PATH."""
    return shutil.which(_PROGRAM) is not None


def sanitized(command: Sequence[str], log: Path) -> list[str]:
    """Return the command that runs an engine's command under memcheck, which writes its report to a file."""
    options = ("--tool", "memcheck", "--print-limit", "1", "--target-processes", "all", "--log-file", str(log))
    return [_PROGRAM, *options, *command]


def first_report(text: str) -> Report | None:
    """Return the first error of a kernel in memcheck's report; None if it has none."""
    lines = [line.removeprefix("=========").strip() for line in text.splitlines() if line.startswith("=========")]
    for number, line in enumerate(lines):
        rest = "\n".join(lines[number + 1 : number + 4])
        place = _PLACE.match(rest)
        if place is None or line.startswith(_CALL_FAILED):
            continue
        thread = _THREAD.search(rest)
        address = next((each for each in lines[number + 1 : number + 5] if each.startswith("Address ")), "")
        kernel = (place["kernel"] or place["old"] or "").partition("(")[0]
        told = f"{line}: {address}" if address else line
        where = f"thread ({thread[1]}) of block ({thread[2]})" if thread is not None else ""
        return Report(told, kernel, place["file"], int(place["line"]) if place["line"] else None, where)
    return None
