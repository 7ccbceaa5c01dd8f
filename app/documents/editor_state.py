"""The state that the editor keeps between two runs: recent files and blocks, theme, window geometry and folding."""

import logging
from pathlib import Path

import msgspec

from warploom.engine.decoding import decode_json
from warploom.engine.patch.files import write_atomically

_log = logging.getLogger(__name__)
RECENT_LIMIT = 10
_FILE = "editor.json"


class Arrangement(msgspec.Struct):
    """Where the docks are.

    `places` are Qt's own bytes, `closed` the names of closed docks, and `shares` the width and height of each visible
    dock, as shares of the window.
    """

    places: bytes
    closed: list[str]
    shares: dict[str, tuple[float, float]]


class UserState(msgspec.Struct):
    """The saved state; `geometry` is Qt's own bytes."""

    recent: list[str] = []
    theme: str = "dark"
    #: Whether nodes are coloured by their share of the frame.
    shows_heat: bool = False
    shows_thumbnails: bool = True
    #: Whether connections show what happens to their data.
    shows_activity: bool = True
    #: Whether the critical path is marked.
    shows_path: bool = False
    geometry: bytes = b""
    #: The arrangement of the docks; None before the first window was closed. Below, those that the person named.
    arrangement: Arrangement | None = None
    arrangements: dict[str, Arrangement] = {}
    #: The keys of commands whose keys the person has changed.
    keys: dict[str, list[str]] = {}
    #: How much larger than usual the whole editor is.
    scale: float = 1.0
    #: Ids of the most recently placed block types, the newest last.
    recent_blocks: list[str] = []
    #: Titles of the palette's unfolded groups; below, of the inspector's folded sections.
    unfolded_groups: set[str] = msgspec.field(default_factory=lambda: {"Recent"})
    folded_sections: set[str] = set()

    def add_recent(self, path: Path) -> None:
        """Put a file at the head of the recent files."""
        name = str(path.resolve())
        self.recent = [name, *(other for other in self.recent if other != name)][:RECENT_LIMIT]

    def existing_recent(self) -> list[Path]:
        """Return the recent files that still exist, newest first."""
        return [path for path in map(Path, self.recent) if path.is_file()]


def load_state(folder: Path) -> UserState:
    """Read the state from its folder. A missing or damaged file gives a fresh state, since it holds no work."""
    return _read(folder) or UserState()


def _read(folder: Path) -> UserState | None:
    try:
        return decode_json((folder / _FILE).read_bytes(), UserState)
    except FileNotFoundError:
        return None
    except (OSError, msgspec.DecodeError) as problem:
        _log.warning("%s can't be read and will be written anew: %s", folder / _FILE, problem)
        return None


def copied(state: UserState) -> UserState:
    """Return a copy of a state, in which lists are copied, too."""
    return decode_json(msgspec.json.encode(state), UserState)


def save_state(state: UserState, folder: Path, before: UserState | None = None) -> UserState:
    """Write the state to its folder, and return a copy of it. Raise OSError if that is impossible.

    `before` is the copy that the same window got last. What has not changed since then stays as it is in the file,
    where another window may have changed it, unless the file can't be read. A newly opened file is added to the recent
    files there.
    """
    copy, merged = copied(state), copied(state)
    if before is not None and (now := _read(folder)) is not None:
        for name in UserState.__struct_fields__:
            if getattr(state, name) == getattr(before, name):
                setattr(merged, name, getattr(now, name))
        if state.recent != before.recent and state.recent:
            merged.recent = now.recent
            merged.add_recent(Path(state.recent[0]))
        state.recent[:] = copy.recent = merged.recent
    folder.mkdir(parents=True, exist_ok=True)
    write_atomically(folder / _FILE, msgspec.json.encode(merged))
    return copy
