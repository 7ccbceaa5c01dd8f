"""The texts of kernel files."""

import codecs
from pathlib import Path

from warploom.engine.diagnostics import KernelError
from warploom.engine.readings import content

#: Editors and shells of Windows begin files with these bytes.
_MARKS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
#: Files whose encoding is given by their format; others may be in Latin-1, as comments in old sources are.
_UTF8 = (".json", ".py")
#: The folder of the kernels that come with Warploom.
SHIPPED_FOLDER = Path(__file__).parents[2] / "kernels"


def read_source(path: Path) -> str:
    """Return a kernel file's text, with line breaks as in Unix and without a byte order mark.

    A text that is not UTF-8 is read as Latin-1. Raise KernelError when it cannot be read, or is no text.
    """
    held = content(path)
    if isinstance(held, str):
        raise KernelError(f"kernel file {path} must be readable, got: {held}", file=str(path))
    mark, encoding = next((each for each in _MARKS if held.startswith(each[0])), (b"", "utf-8"))
    try:
        text = held[len(mark) :].decode(encoding)
    except UnicodeDecodeError as reason:
        if mark or path.suffix.lower() in _UTF8 or b"\0" in held:
            line = held.count(b"\n", 0, reason.start) + 1
            raise KernelError(f"{path.name} must be UTF-8 text, got other bytes", file=str(path), line=line) from None
        text = held.decode("latin-1")
    return text.replace("\r\n", "\n").replace("\r", "\n")
