"""Which files a CUDA C++ source includes: they are watched, and their contents are part of the compiler's cache key."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from engine.kernel_sources.files import read_source

_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(?:"([^"\n]+)"|<([^>\n]+)>)', re.MULTILINE)


@dataclass(frozen=True)
class Includes:
    """`files` maps what was found, in the order of first mention, to its text; `missing` are names no folder has."""

    files: Mapping[Path, str]
    missing: tuple[str, ...]


def find_includes(source: str, path: Path, folders: Sequence[Path]) -> Includes:
    """Follow the `#include` lines of `source`, whose file is `path`, as the compiler would.

    Lines that are switched off by `#if` count too: a file too many only costs a needless compile, one too few a stale
    kernel.
    """
    found: dict[Path, str] = {}
    missing: dict[str, None] = {}
    pending = [(source, path)]
    while pending:
        text, origin = pending.pop(0)
        for quoted, angled in _INCLUDE.findall(text):
            places = [origin.parent, *folders] if quoted else list(folders)
            target = _first_file(quoted or angled, places)
            if target is None:
                missing[quoted or angled] = None
            elif target != path and target not in found:
                found[target] = read_source(target)
                pending.append((found[target], target))
    return Includes(found, tuple(missing))


def _first_file(name: str, folders: Sequence[Path]) -> Path | None:
    for folder in folders:
        target = (folder / name).resolve()
        if target.is_file():
            return target
    return None
