"""The dirty tracker: what has changed since the last frame, and the causes to tell a person."""

from __future__ import annotations

from pathlib import Path

FIRST_BUILD = "first build"
#: A person who pastes a hundred blocks need not read a hundred names.
CAUSES_TOLD = 4


class DirtyTracker:
    """Starts with the structure dirty, so that the first frame builds.

    `parameters` holds live parameters by (node, name) with their newest value; `kernel_files` saved kernel sources;
    `causes` what made the structure dirty, in words.
    """

    def __init__(self) -> None:
        self.structure = True
        self.parameters: dict[tuple[str, str], object] = {}
        self.kernel_files: set[Path] = set()
        self.causes: dict[str, None] = {FIRST_BUILD: None}

    def mark_structure(self, cause: str) -> None:
        """A rebuild is needed."""
        self.structure = True
        if FIRST_BUILD not in self.causes:
            self.causes[cause] = None

    def mark_parameter(self, node: str, name: str, value: object) -> None:
        """A live parameter has a new value."""
        self.parameters[node, name] = value

    def mark_kernel_files(self, paths: frozenset[Path]) -> None:
        """Kernel sources were saved."""
        self.kernel_files |= paths

    def take_structure(self) -> str:
        """Return the causes in words and count the structure as clean."""
        told = list(self.causes)[:CAUSES_TOLD]
        more = len(self.causes) - len(told)
        text = ", ".join(told) + (f" and {more} more" if more else "")
        self.structure = False
        self.causes.clear()
        return text

    def take_parameters(self) -> dict[tuple[str, str], object]:
        """Return the changed parameters and count them as clean."""
        taken, self.parameters = self.parameters, {}
        return taken

    def take_kernel_files(self) -> frozenset[Path]:
        """Return the saved kernel files and count them as clean."""
        taken, self.kernel_files = frozenset(self.kernel_files), set()
        return taken
