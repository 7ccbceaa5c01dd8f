"""The dirty tracker: whether structure or code has changed since the last frame, and why."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, NamedTuple

#: Who asks for an update: a person who edits or undoes, a saved file, or the engine itself.
UpdateSource = Literal["edit", "undo", "kernel file", "block file", "engine"]
FIRST_BUILD = "first build"
#: How many causes are named: whoever pastes a hundred blocks doesn't want to read a hundred names.
CAUSES_TOLD = 4


class Cause(NamedTuple):
    """Why something is rebuilt: in words, who asked for it first, and which nodes it concerns."""

    text: str
    source: UpdateSource
    nodes: tuple[str, ...] = ()


class DirtyTracker:
    """Starts with the structure dirty, so that the first frame builds.

    `kernel_files` are saved kernel sources; `causes` say what made the structure dirty, and who. `source` is whose
    changes are being followed. Which parameters changed is known to the parameter store.
    """

    def __init__(self) -> None:
        self.structure = True
        self.kernel_files: set[Path] = set()
        self.causes: dict[str, Cause] = {FIRST_BUILD: Cause(FIRST_BUILD, "engine")}
        self.source: UpdateSource = "edit"

    def mark_structure(self, cause: str, source: UpdateSource | None = None, *, nodes: tuple[str, ...] = ()) -> None:
        """Ask for a rebuild."""
        self.structure = True
        if FIRST_BUILD not in self.causes:
            self.causes.setdefault(cause, Cause(cause, source or self.source, nodes))

    def mark_kernel_files(self, paths: frozenset[Path]) -> None:
        """Note kernel files that were saved."""
        self.kernel_files |= paths

    def take_structure(self) -> Cause:
        """Return all causes as one, and mark the structure clean."""
        told = list(self.causes)[:CAUSES_TOLD]
        more = len(self.causes) - len(told)
        text = ", ".join(told) + (f" and {more} more" if more else "")
        source: UpdateSource = next((cause.source for cause in self.causes.values()), "engine")
        nodes = dict.fromkeys(node for cause in self.causes.values() for node in cause.nodes)
        self.structure = False
        self.causes.clear()
        return Cause(text, source, tuple(nodes))

    def take_kernel_files(self) -> frozenset[Path]:
        """Return the saved kernel files, and mark code clean."""
        taken, self.kernel_files = frozenset(self.kernel_files), set()
        return taken
