"""The dirty tracker: what has changed since the last frame, and the causes to tell a person."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, NamedTuple

#: Who asks for an update: the person at the canvas, who may also take something back, or whatever followed by itself.
UpdateSource = Literal["edit", "undo", "kernel file", "block file", "engine"]
FIRST_BUILD = "first build"
#: A person who pastes a hundred blocks need not read a hundred names.
CAUSES_TOLD = 4


class Cause(NamedTuple):
    """Why something is rebuilt: in words, who was the first to ask for it, and the nodes that it is about."""

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
        """A rebuild is needed."""
        self.structure = True
        if FIRST_BUILD not in self.causes:
            self.causes.setdefault(cause, Cause(cause, source or self.source, nodes))

    def mark_kernel_files(self, paths: frozenset[Path]) -> None:
        """Kernel sources were saved."""
        self.kernel_files |= paths

    def take_structure(self) -> Cause:
        """Return the causes as one, and count the structure as clean."""
        told = list(self.causes)[:CAUSES_TOLD]
        more = len(self.causes) - len(told)
        text = ", ".join(told) + (f" and {more} more" if more else "")
        source: UpdateSource = next((cause.source for cause in self.causes.values()), "engine")
        nodes = dict.fromkeys(node for cause in self.causes.values() for node in cause.nodes)
        self.structure = False
        self.causes.clear()
        return Cause(text, source, tuple(nodes))

    def take_kernel_files(self) -> frozenset[Path]:
        """Return the saved kernel files and count them as clean."""
        taken, self.kernel_files = frozenset(self.kernel_files), set()
        return taken
