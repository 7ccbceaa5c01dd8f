"""`OpenTexts`: the texts that were opened in the code dock, their drafts, and the versions before each save."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QTextCursor

from warploom.app.docks.code.code_text import CodeDocument, text_of, units
from warploom.app.documents.code_files.drafts import Drafts, write_code
from warploom.app.view_models.code.places import CodePlace, read_code
from warploom.engine.patch.document import Patch

_MOST_VERSIONS = 20


class State(Enum):
    """How a text relates to its place's own text."""

    SAME = "same"
    TYPED = "typed"
    #: The place's own text has changed since typing began.
    CONFLICT = "conflict"
    GONE = "gone"


@dataclass(frozen=True)
class Version:
    """An earlier or other text of a place, with its name in lists."""

    name: str
    text: str


class OpenTexts(QObject):
    """One document for each place that was opened, with its own undo history. What is typed is a draft at once."""

    #: The text of a place changed.
    typed = Signal(CodePlace)

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self.drafts = Drafts(self)
        self.patch: Patch | None = None
        #: Writes a text into a parameter of the patch.
        self.set_parameter: Callable[[CodePlace, str], None] = lambda place, text: None
        self._documents: dict[CodePlace, CodeDocument] = {}
        #: The text that each place had when it was last read or written.
        self._bases: dict[CodePlace, str] = {}
        self._versions: dict[CodePlace, list[Version]] = {}
        self._is_loading = False

    def clear(self, patch: Patch | None) -> None:
        """Forget all texts, since another patch is open."""
        self.patch = patch
        self._documents, self._bases, self._versions = {}, {}, {}

    def open(self, place: CodePlace) -> CodeDocument | None:
        """Return the document of a place, with its draft if there is one; None when the place has no text."""
        draft, held = self.drafts[place], read_code(place, self.patch)
        if held is None and draft is None:
            return None
        if place not in self._documents:
            document = CodeDocument(held or "", place.language(self.patch))
            self._bases[place] = text_of(document) if draft is None else draft.base
            self._documents[place] = document
            if draft is not None:
                self._replace(document, draft.text)
            document.contentsChanged.connect(lambda: self._on_typed(place))
        return self._documents[place]

    def text(self, place: CodePlace) -> str:
        """Return the present text, typed or not."""
        return text_of(self._documents[place])

    def base(self, place: CodePlace) -> str:
        """Return the text that the place had when it was last read or written."""
        return self._bases.get(place, "")

    def keeps_all(self, place: CodePlace) -> bool:
        """True unless a text has characters that the editor would lose."""
        held = read_code(place, self.patch)
        return held is None or not place.file or self.drafts[place] is not None or held == self.base(place)

    def state(self, place: CodePlace) -> State:
        """Compare a text with its place; a text without typed changes follows the place."""
        held, draft = read_code(place, self.patch), self.drafts[place]
        if held is None:
            return State.GONE
        known = self._bases.get(place, draft.base if draft is not None else "")
        if draft is not None:
            if held == draft.text:
                self._settle(place, held)
                return State.SAME
            if not place.file:
                self._bases[place] = held  # the edit that enters the text can be undone
            return State.CONFLICT if held not in (draft.base, known) else State.TYPED
        if place in self._documents and held != known:
            self._load(place, held)
        return State.SAME

    def save(self, place: CodePlace) -> None:
        """Write the typed text into its place. Raise OSError if a file can't be written; the text stays typed."""
        draft = self.drafts[place]
        if draft is None:
            return
        if place.file:
            self._keep_version(place, read_code(place, None))
            write_code(place, draft.text)
            self._settle(place, draft.text)
        else:
            self._settle(place, draft.text)
            self.set_parameter(place, draft.text)

    def take_theirs(self, place: CodePlace) -> None:
        """Replace the typed text by the place's own; undo in the text brings it back."""
        held = read_code(place, self.patch)
        if held is not None:
            self.drafts.drop(place)
            self._load(place, held)

    def keep_mine(self, place: CodePlace) -> None:
        """Regard the typed text as a change of the place's present text."""
        held, draft = read_code(place, self.patch), self.drafts[place]
        if held is not None and draft is not None:
            self._keep_version(place, held)
            self._bases[place] = held
            self.drafts.type(place, draft.text, held)

    def versions(self, place: CodePlace) -> list[Version]:
        """Return the texts to compare with, the newest first: the saved one, and those before each save."""
        held = read_code(place, self.patch)
        saved = [] if held is None else [Version("Saved" if place.file else "In the patch", held)]
        return [*saved, *reversed(self._versions.get(place, ()))]

    def restore(self, place: CodePlace, text: str) -> None:
        """Replace the text by another version, as typing would; undo in the text brings it back."""
        document = self._documents.get(place)
        if document is not None:
            self._replace(document, text)

    def _on_typed(self, place: CodePlace) -> None:
        if not self._is_loading and place in self._documents:
            self.drafts.type(place, self.text(place), self.base(place))
            self.typed.emit(place)

    def _settle(self, place: CodePlace, text: str) -> None:
        self._bases[place] = text
        self.drafts.drop(place)

    def _load(self, place: CodePlace, text: str) -> None:
        document = self._documents.get(place)
        if document is not None:
            self._is_loading = True
            self._replace(document, text)
            self._is_loading = False
            self._bases[place] = text_of(document)
            self.typed.emit(place)

    def _keep_version(self, place: CodePlace, text: str | None) -> None:
        if text is not None:
            kept = self._versions.setdefault(place, [])
            kept.append(Version(f"Before {time.strftime('%H:%M:%S')}", text))
            del kept[:-_MOST_VERSIONS]

    @staticmethod
    def _replace(document: CodeDocument, text: str) -> None:
        """Replace what differs, so that the cursor and the undo history stay."""
        before = text_of(document)
        if before == text:
            return
        most = min(len(before), len(text))
        start = next((n for n in range(most) if before[n] != text[n]), most)
        most -= start
        same = next((n for n in range(most) if before[-1 - n] != text[-1 - n]), most)
        end = len(before) - same
        cursor = QTextCursor(document)
        cursor.setPosition(units(before, start))
        cursor.setPosition(units(before, end), QTextCursor.MoveMode.KeepAnchor)
        cursor.insertText(text[start : len(text) - same])
