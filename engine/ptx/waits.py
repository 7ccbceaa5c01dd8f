"""Kernels that wait: PTX whose entry points begin with `griddepcontrol.wait`, for programmatic edges between them."""

import re

from engine.ptx.text import code_of, entry_bodies

_VERSION = re.compile(r"\.version\s+(\d+)\.(\d+)")
_TARGET = re.compile(r"\.target\s+sm_(\d+)")
#: What `griddepcontrol` takes (PTX ISA, "Parallel Synchronization and Communication Instructions").
_OLDEST_VERSION, _OLDEST_TARGET = (7, 8), 90
#: From here on the threads of a warp are scheduled independently; code for older targets may rely on the contrary.
_INDEPENDENT_THREADS = 70
#: Reads of what no kernel may be writing. The driver's compiler moves them before the wait.
_READ_ONLY = re.compile(r"\b(?:tex|tld4|ldu)\.")
_NON_COHERENT = re.compile(r"(\bld(?:\.[\w:]+)*?\.global(?:\.[\w:]+)*?)\.nc\b")
_WAIT = " griddepcontrol.wait;"


def waiting_ptx(text: str) -> str | None:
    """Return PTX whose kernels first wait until earlier launches are complete; None when it can't be.

    Its version and its target become those that have the wait, at least. Loads that the compiler takes for free to
    move before it (`ld.global.nc`) become plain ones; there is no such way for textures. Lines keep their numbers.
    """
    code = code_of(text)
    version, target = _VERSION.search(code), _TARGET.search(code)
    places = [place for _, place in entry_bodies(code)]
    if version is None or target is None or not places or _READ_ONLY.search(code):
        return None
    if int(target[1]) < _INDEPENDENT_THREADS:
        return None
    edits = [(place, place, _WAIT) for place in places]
    edits += [(found.end(1), found.end(), "") for found in _NON_COHERENT.finditer(code)]
    if (int(version[1]), int(version[2])) < _OLDEST_VERSION:
        edits.append((version.start(1), version.end(), ".".join(map(str, _OLDEST_VERSION))))
    if int(target[1]) < _OLDEST_TARGET:
        edits.append((*target.span(1), str(_OLDEST_TARGET)))
    done, parts = 0, list[str]()
    for start, end, new in sorted(edits):
        parts += [text[done:start], new]
        done = end
    return "".join([*parts, text[done:]])
