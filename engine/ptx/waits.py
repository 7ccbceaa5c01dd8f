"""Makes the entry points of PTX begin with `griddepcontrol.wait`, for programmatic edges between kernels."""

import re

from warploom.engine.ptx.text import code_of, entry_bodies

_VERSION = re.compile(r"\.version\s+(\d+)\.(\d+)")
_TARGET = re.compile(r"\.target\s+sm_(\d+)")
#: The requirements of `griddepcontrol` (PTX ISA, "Parallel Synchronization and Communication Instructions").
_OLDEST_VERSION, _OLDEST_TARGET = (7, 8), 90
#: The first target that schedules the threads of a warp independently; code for older targets may rely on lockstep.
_INDEPENDENT_THREADS = 70
#: Reads of memory that no kernel may be writing. The driver's compiler moves them before the wait.
_READ_ONLY = re.compile(r"\b(?:tex|tld4|ldu)\.")
_NON_COHERENT = re.compile(r"(\bld(?:\.[\w:]+)*?\.global(?:\.[\w:]+)*?)\.nc\b")
_WAIT = " griddepcontrol.wait;"


def waiting_ptx(text: str) -> str | None:
    """Return PTX whose kernels first wait until earlier launches are complete; None when that is impossible.

    Its version and target become at least those that have the wait. Loads that the compiler may move before the wait
    (`ld.global.nc`) become plain ones. Texture reads can't be replaced this way. Lines keep their numbers.
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
