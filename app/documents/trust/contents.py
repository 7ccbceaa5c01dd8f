"""The contents of a folder of blocks, or of a patch's file, when the person trusted them; and what changed since."""

import difflib
import hashlib
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec

from warploom.engine.diagnostics import cut, printable
from warploom.engine.kernel_sources.python.trust import is_hidden
from warploom.engine.readings import Disk, content, digest, stamp_of

#: In a folder, larger files, and those after this much, count by number, size and times, which no archive can set.
_FILE_READ, _FOLDER_READ = 8 << 20, 64 << 20
#: Texts of at most this size are kept for later comparisons, and this much of a folder.
_FILE_KEPT, _FOLDER_KEPT = 256 << 10, 4 << 20
#: The most different lines of a file that are compared one by one, since that takes quadratic time.
_LINES_COMPARED = 1000
#: The most lines that are shown of a file, and characters of a line.
_LINES_SHOWN, _LINE_SHOWN = 5000, 500


class Contents(msgspec.Struct, frozen=True):
    """A digest of each file by its name, and the texts of small ones."""

    digests: dict[str, str] = {}
    texts: dict[str, str] = {}


@dataclass(frozen=True)
class FileChange:
    """A file that was changed, added or deleted; the texts are None where there is none, or it was not kept."""

    name: str
    what: str
    before: str | None
    now: str | None

    def __str__(self) -> str:
        return f"{self.what}: {self._visible_name()}"

    def lines(self) -> Iterator[tuple[str, str]]:
        """Yield the lines of a unified diff with escaped control characters, each after its kind.

        The kinds are "head", and the first character of other lines: "@", "+", "-" or " ".
        """
        name = self._visible_name()
        yield "head", f"--- {name}, when you trusted it" if self.what != "added" else "--- no file"
        yield "head", f"+++ {name}, now" if self.what != "deleted" else "+++ no file"
        before, now = ((text or "").splitlines() for text in (self.before, self.now))
        if self.before is None and self.now is None:
            yield "@", "@@ it is large, or not a text, so that only the change is known @@"
        elif self.before is None and self.what == "changed":
            yield "@", "@@ its earlier text was not kept @@"
        elif before == now:
            yield "@", "@@ only the ends of lines differ @@"
        for number, line in enumerate(_unified(before, now)):
            if number == _LINES_SHOWN:
                yield "@", "@@ and more lines @@"
                return
            yield line[:1], printable(cut(line, _LINE_SHOWN))

    def _visible_name(self) -> str:
        return printable(self.name).replace("\n", "\\n")


def read_contents(path: Path, disk: Disk) -> Contents:
    """Return the contents of a file, or of all files in a folder except hidden and compiled ones."""
    found, is_folder = Contents(), path.is_dir()
    read = kept = 0
    for name, file in _files(path):
        stamp = stamp_of(file)
        size = stamp[2] if stamp is not None else 0
        if is_folder and stamp is not None and (size > _FILE_READ or read + size > _FOLDER_READ):
            found.digests[name] = f"stamp {stamp[1:]}"
            continue
        read += size
        if size > _FILE_KEPT or kept + size > _FOLDER_KEPT:
            held = disk.ask(digest, file)
            found.digests[name] = held.hex() if isinstance(held, bytes) else held
        else:
            held = disk.ask(content, file)
            found.digests[name] = hashlib.sha256(held).hexdigest() if isinstance(held, bytes) else held
            if isinstance(held, bytes) and (text := _text(held)) is not None:
                kept += size
                found.texts[name] = text
    return found


def changes(before: Contents, now: Contents) -> list[FileChange]:
    """Return the files that differ, by name."""
    names = sorted(before.digests.keys() | now.digests.keys())
    return [
        FileChange(name, _what(name, before.digests, now.digests), before.texts.get(name), now.texts.get(name))
        for name in names
        if before.digests.get(name) != now.digests.get(name)
    ]


def _what(name: str, before: Mapping[str, str], now: Mapping[str, str]) -> str:
    if name not in before:
        return "added"
    return "changed" if name in now else "deleted"


def _files(path: Path) -> Iterator[tuple[str, Path]]:
    """Yield the files with their names, in order. Links to folders are followed, as imports do.

    A link to a folder that was listed already is itself yielded instead of its files.
    """
    if not path.is_dir():
        yield _name(path, path.parent), path
        return
    entered: set[str] = set()
    for folder, folders, names in os.walk(path, followlinks=True):
        here, real = Path(folder), os.path.realpath(folder)
        if real in entered:
            folders.clear()
            yield _name(here, path), here
            continue
        entered.add(real)
        folders[:] = sorted(name for name in folders if not is_hidden(name))
        yield from ((_name(here / n, path), here / n) for n in sorted(names) if not is_hidden(n))


def _name(file: Path, folder: Path) -> str:
    """Return a file's name in a folder, as a text that any file can hold."""
    return os.fsencode(file.relative_to(folder)).decode(errors="backslashreplace")


def _text(held: bytes) -> str | None:
    try:
        return None if b"\0" in held else held.decode()
    except UnicodeDecodeError:
        return None


def _unified(before: list[str], now: list[str]) -> Iterator[str]:
    """Yield the hunks of a unified diff; texts that differ much are not compared line by line."""
    same = 0
    most = min(len(before), len(now))
    while same < most and before[same] == now[same]:
        same += 1
    end = 0
    while end < most - same and before[-1 - end] == now[-1 - end]:
        end += 1
    if max(len(before), len(now)) - same - end > _LINES_COMPARED:
        yield f"@@ -{same + 1},{len(before) - same - end} +{same + 1},{len(now) - same - end} @@"
        yield from (f"-{line}" for line in before[same : len(before) - end])
        yield from (f"+{line}" for line in now[same : len(now) - end])
        return
    # The lines around the differences are compared too, for the three that are shown as context.
    start, rest = max(0, same - 3), max(0, end - 3)
    hunks = difflib.unified_diff(before[start : len(before) - rest], now[start : len(now) - rest], lineterm="")
    for line in list(hunks)[2:]:
        yield _moved(line, start) if line.startswith("@@") else line


def _moved(hunk: str, lines: int) -> str:
    """Return a hunk's head whose line numbers begin `lines` later."""
    parts = hunk.split()
    for index in (1, 2):
        first, comma, count = parts[index][1:].partition(",")
        parts[index] = f"{parts[index][0]}{int(first) + lines}{comma}{count}"
    return " ".join(parts)
