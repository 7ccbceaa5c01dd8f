"""`Drafts`: code that was typed and is not saved in its file yet."""

from collections.abc import Iterable

import msgspec
from PySide6.QtCore import QObject, Signal

from warploom.app.view_models.code.places import CodePlace, read_code
from warploom.engine.figures import plural
from warploom.engine.patch.files import write_atomically


class Draft(msgspec.Struct, frozen=True):
    """Typed code for a place, and the place's own text when typing began."""

    place: CodePlace
    text: str
    base: str

    @property
    def is_unsaved(self) -> bool:
        """True unless the file holds the text by now."""
        return not self.place.file or read_code(self.place, None) != self.text

    @property
    def summary(self) -> str:
        """The place's name, and how much was typed."""
        base = self.base.splitlines()
        changed = sum(line not in base for line in self.text.splitlines())
        return f"{self.place.name(None)}, {plural(changed, 'changed line')}"


class Drafts(QObject):
    """The texts that differ from their places' own, by place. They belong to the open patch, and outlive a crash."""

    #: A draft was typed, saved or dropped.
    changed = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._drafts: dict[CodePlace, Draft] = {}

    def __getitem__(self, place: CodePlace) -> Draft | None:
        return self._drafts.get(place)

    def all(self) -> tuple[Draft, ...]:
        """Return the drafts, the oldest first."""
        return tuple(self._drafts.values())

    def type(self, place: CodePlace, text: str, base: str) -> None:
        """Keep typed text; a text that equals `base`, the place's own, is no draft."""
        draft = Draft(place, text, base)
        if text == base:
            self.drop(place)
        elif self._drafts.get(place) != draft:
            self._drafts[place] = draft
            self.changed.emit()

    def drop(self, place: CodePlace) -> None:
        """Forget a draft, if there is one."""
        if self._drafts.pop(place, None) is not None:
            self.changed.emit()

    def replace(self, drafts: Iterable[Draft] = ()) -> None:
        """Keep these drafts instead of the present ones."""
        self._drafts = {draft.place: draft for draft in drafts}
        self.changed.emit()

    def save(self, place: CodePlace) -> None:
        """Write a draft of a file into the file. Raise OSError, and keep the draft, if that fails."""
        draft = self._drafts.get(place)
        if draft is not None and place.file:
            write_code(place, draft.text)
            self.drop(place)

    def save_all(self) -> None:
        """Write the drafts of all files. Raise OSError at the first that can't be written, or that has changed."""
        for draft in self.all():
            if read_code(draft.place, None) not in (draft.base, draft.text, None):
                raise OSError(f"{draft.place.file} was changed by another program: choose a version in the Code dock")
            self.save(draft.place)


def write_code(place: CodePlace, text: str) -> None:
    """Write a text into a file of code, with the ends of lines that the file has. Raise OSError if that fails."""
    try:
        had_crlf = b"\r\n" in place.path.read_bytes()[: 1 << 16]
    except FileNotFoundError:
        had_crlf = False
        place.path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(place.path, (text.replace("\n", "\r\n") if had_crlf else text).encode())
