"""Names that can follow in code while it is typed: only those that exist."""

import builtins
import keyword
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path

from warploom import api
from warploom.app.view_models.code import cuda_names
from warploom.app.view_models.code.places import headers_of
from warploom.engine.blocktypes.block import Block
from warploom.engine.descriptions.builder import BlockBuilder
from warploom.engine.descriptions.handles import BufferHandle
from warploom.engine.diagnostics import KernelError
from warploom.engine.kernel_sources.image import HEADERS_FOLDER, KERNELS_FOLDER
from warploom.engine.kernel_sources.texts import read_source
from warploom.engine.ops.expression import function_names, predefined_names
from warploom.engine.ptx.text import code_of

_MOST = 200
_WORD_BEFORE = re.compile(r"[A-Za-z_]\w*\Z|\Z")
#: What stands before the word: a path of names with dots.
_PATH_BEFORE = re.compile(r"((?:[A-Za-z_]\w*\.)+)\Z")
_INCLUDE_BEFORE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*["<]([\w./-]*)\Z', re.MULTILINE)
_KERNEL_BEFORE = re.compile(r'\bKernel\(\s*"([\w./-]*)\Z')
_MEMBER_BEFORE = re.compile(r"(?:\.|->)\s*\Z")
#: A declaration: a type, and the name after it.
_DECLARED = re.compile(r"(?:(?<=\w)[ \t]+|[*&>,][ \t]*)([A-Za-z_]\w*)[ \t]*(?=[=;,)\[({:])")
_MEMBER = re.compile(r"([A-Za-z_]\w*)\s*(?:\[[^\]]*\]\s*)?(?:=[^,]*)?(?:,|\Z)")
_MACRO = re.compile(r"^[ \t]*#[ \t]*define[ \t]+([A-Za-z_]\w*)", re.MULTILINE)
_TYPE = re.compile(r"\b(?:struct|enum|union|class|using|typename)\s+([A-Za-z_]\w*)")
_PYTHON_BOUND = re.compile(
    r"^[ \t]*(?:async[ \t]+)?(?:def|class)[ \t]+([A-Za-z_]\w*)|\b(?:import|as|for)[ \t]+([A-Za-z_]\w*)"
    r"|^[ \t]*([A-Za-z_]\w*)[ \t]*(?::[^=\n]*)?=[^=]"
    r"|[(,][ \t]*([A-Za-z_]\w*)[ \t]*(?=[:,)=])|^[ \t]*([A-Za-z_]\w*)[ \t]*:[ \t]*\w",
    re.MULTILINE,
)
_PORTS = re.compile(r"^[ \t]+([A-Za-z_]\w*)[ \t]*:[ \t]*(?:In|Out)\[", re.MULTILINE)
_FIELDS = re.compile(r"^[ \t]+([A-Za-z_]\w*)[ \t]*(?::|=[^=])|^[ \t]+def[ \t]+([A-Za-z_]\w*)", re.MULTILINE)
_IMPORTED = re.compile(r"^from[ \t]+warploom\.api[ \t]+import[ \t]+(\([^)]*\)?|.*)", re.MULTILINE)


@dataclass(frozen=True)
class Names:
    """The names that may complete a word, which begins at `start` of the text, and ends at the cursor."""

    start: int
    names: tuple[str, ...]


def names_at(text: str, place: int, language: str, file: Path | None) -> Names:
    """Return the names that begin as the word before `place` does; `file` is where the text lies, if in a file."""
    before = text[:place]
    for pattern, suffixes in ((_INCLUDE_BEFORE, (".cuh", ".h")), (_KERNEL_BEFORE, (".cu", ".ptx"))):
        if (found := pattern.search(before, max(0, place - 300))) and language == _OWNER[pattern]:
            return Names(found.start(1), _fitting(_files(file, suffixes), found[1]))
    if language != "json" and code_of_line(before, language) is None:
        return Names(place, ())  # inside a comment or a string
    word = _WORD_BEFORE.search(before, max(0, place - 100))
    start = word.start() if word is not None else place
    if start and before[start - 1].isdigit():
        return Names(place, ())
    typed, around = before[start:], f"{before[:start]} {text[place:]}"
    known: Iterable[str] = ()
    match language:
        case "cuda":
            known = _cuda_members(around, file) if _MEMBER_BEFORE.search(before[:start]) else _cuda(around, file)
        case "python":
            known = _python(before[:start], around)
        case "expression":
            known = [*function_names(), *predefined_names(), "if", "else", "and", "or", "not"]
        case "ptx":
            known = set(re.findall(r"[%$]?[A-Za-z_][\w$.]*", around))
    return Names(start, _fitting(known, typed))


_OWNER = {_INCLUDE_BEFORE: "cuda", _KERNEL_BEFORE: "python"}


def code_of_line(before: str, language: str) -> str | None:
    """Return the code of the last line, up to its end; None if that is inside a comment or a string."""
    line = before.rpartition("\n")[2]
    mark = "#" if language in ("python", "expression") else "//"
    bare = re.sub(r'"(?:[^"\\]|\\.)*"' + (r"|'(?:[^'\\]|\\.)*'" if mark == "#" else ""), "", line)
    if mark in bare or '"' in bare or (mark == "#" and "'" in bare):
        return None
    if mark == "//" and before.rfind("/*") > before.rfind("*/"):
        return None
    return bare


def _fitting(known: Iterable[str], typed: str) -> tuple[str, ...]:
    """Return the names that begin as typed, regardless of case; those that begin exactly so come first.

    A file may be typed without its folder.
    """
    low = typed.lower()
    found = {name for name in known if f"/{low}" in f"/{name.lower()}" and name != typed}
    return tuple(sorted(found, key=lambda name: (not name.startswith(typed), name.lower(), name))[:_MOST])


def _files(file: Path | None, suffixes: tuple[str, ...]) -> list[str]:
    beside = [file.parent] if file is not None else []
    found = [path.name for folder in (*beside, KERNELS_FOLDER) if folder.is_dir() for path in folder.iterdir()]
    found += [f"{HEADERS_FOLDER.name}/{path.name}" for path in HEADERS_FOLDER.iterdir()]
    return [name for name in found if name.endswith(suffixes)]


def _cuda(text: str, file: Path | None) -> Iterator[str]:
    yield from cuda_names.KEYWORDS
    yield from cuda_names.NAMES
    yield from declared(text)
    for header in _headers(text, file):
        yield from _header_names(header)[0]


def _cuda_members(text: str, file: Path | None) -> Iterator[str]:
    yield from "xyzw"
    yield from _scanned(text)[1]
    for header in _headers(text, file):
        yield from _header_names(header)[1]


def declared(text: str) -> set[str]:
    """Return the names that CUDA C++ declares: macros, types, functions, parameters and variables."""
    code = code_of(text)
    found = {*_MACRO.findall(code), *_TYPE.findall(code), *_DECLARED.findall(code)}
    return found - set(cuda_names.KEYWORDS)


def _headers(text: str, file: Path | None) -> list[Path]:
    """Return the headers that a text includes; those of the file's saved version are known before it is saved again."""
    folders = [*([file.parent] if file is not None else []), KERNELS_FOLDER]
    names = re.findall(r'^[ \t]*#[ \t]*include[ \t]*["<]([^">\n]+)[">]', text, re.MULTILINE)
    direct = [next((f / name for f in folders if (f / name).is_file()), None) for name in names]
    found = dict.fromkeys(path for path in direct if path is not None)
    for path in tuple(found):
        found.update(dict.fromkeys(headers_of(path)))
    return list(found)


def _header_names(header: Path) -> tuple[frozenset[str], frozenset[str]]:
    try:
        stamp = header.stat().st_mtime_ns
    except OSError:
        return frozenset(), frozenset()
    return _scanned_file(header, stamp)


@lru_cache(maxsize=64)
def _scanned_file(header: Path, stamp_ns: int) -> tuple[frozenset[str], frozenset[str]]:
    try:
        return _scanned(read_source(header))
    except KernelError:
        return frozenset(), frozenset()


def _scanned(text: str) -> tuple[frozenset[str], frozenset[str]]:
    """Return the names that a text declares for other texts, and the members of its structs."""
    code = code_of(text)
    outside, members = set(_MACRO.findall(code)), set[str]()
    code = re.sub(r"^[ \t]*#(?:\\\n|[^\n])*", "", code, flags=re.MULTILINE)
    around, begin = list[str](), 0  # `around` has what each open brace belongs to
    for found in re.finditer(r"[{};]", code):
        part, kind = code[begin : found.start()], around[-1] if around else ""
        begin = found.end()
        if found[0] == "{":
            is_type = re.search(r"\b(?:struct|union|class)\s+\w+[^()]*\Z", part) is not None
            is_space = re.search(r"\bnamespace\b|\bextern\s*\Z", part) is not None
            if kind in ("", "space"):
                outside |= _heads(part)
            elif kind == "type":
                members |= _heads(part)
            around.append("type" if is_type else "space" if is_space else "body")
        elif found[0] == "}":
            if around:
                around.pop()
        elif kind == "type":
            members |= set(_MEMBER.findall(part))
        elif kind in ("", "space"):
            outside |= _heads(part)
    return frozenset(outside - set(cuda_names.KEYWORDS)), frozenset(members - set(cuda_names.KEYWORDS))


def _heads(part: str) -> set[str]:
    """Return the names that a declaration outside functions declares: a type, a function or a variable."""
    part = re.sub(r"\btemplate\s*<[^>]*>", "", part)
    found = set(_TYPE.findall(part))
    head = re.split(r"[(=]", part, maxsplit=1)[0]
    name = re.search(r"[\w>*&]\s*[\s*&]([A-Za-z_]\w*)\s*(?:\[[^\]]*\]\s*)*\Z", head)
    return found | ({name[1]} if name is not None else set())


def _python(before: str, around: str) -> Iterable[str]:
    path = _PATH_BEFORE.search(before, max(0, len(before) - 200))
    if path is not None:
        return _attributes(path[1].rstrip(".").split("."), around)
    line = before.rpartition("\n")[2]
    if re.match(r"from\s+warploom\.api\s+import\b", line) or _inside_import(before):
        return api.__all__
    bound = {name for groups in _PYTHON_BOUND.findall(around) for name in groups if name}
    imported = {name for part in _IMPORTED.findall(around) for name in re.findall(r"\w+", part)}
    return {*bound, *(imported & set(api.__all__)), *keyword.kwlist, *dir(builtins)}


def _inside_import(before: str) -> bool:
    begin = before.rfind("from warploom.api import (")
    return begin >= 0 and ")" not in before[begin:]


def _attributes(path: list[str], text: str) -> Iterable[str]:
    match path:
        case ["self"]:
            fields = {name for groups in _FIELDS.findall(text) for name in groups if name}
            return fields | _public(Block)
        case ["self", port] if port in _PORTS.findall(text):
            return _public(BufferHandle)
        case ["build"]:
            return _public(BlockBuilder)
        case [module] if module in api.__all__:
            return _public(getattr(api, module))
    return ()


@cache
def _public(owner: object) -> frozenset[str]:
    return frozenset(name for name in dir(owner) if not name.startswith("_"))
