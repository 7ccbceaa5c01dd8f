"""`OverwriteQuestion`: asks before save blocks overwrite files that the patch has not written."""

from PySide6.QtCore import QObject, Signal

from warploom.app.documents.dialogs import in_a_line
from warploom.app.documents.session import Session
from warploom.app.widgets.banner import NO_NOTICE, Notice
from warploom.engine.diagnostics import Diagnostic, Mend
from warploom.engine.figures import plural
from warploom.engine.protocol.messages import SaveOutputs


class OverwriteQuestion(QObject):
    """Collects the files that the engine has left alone, and saves the outputs again if the person allows it."""

    #: The question; `NO_NOTICE` if there is none, or it was answered.
    asked = Signal(Notice)

    def __init__(self, session: Session, parent: QObject) -> None:
        super().__init__(parent)
        self._session = session
        #: The nodes that write the files, by path.
        self._refused: dict[str, str] = {}
        session.replaced.connect(self._keep)

    def show_failure(self, diagnostic: Diagnostic) -> None:
        """Ask about a file, if that is why an output was not saved."""
        if diagnostic.mend is not Mend.OVERWRITE:
            return
        self._refused[diagnostic.found] = diagnostic.node or ""
        number = plural(len(self._refused), "file")
        notice = Notice(
            f"Overwrite {number} that this patch has not written, or that changed since it did?",
            tuple(in_a_line(f"{node}: {path}") for path, node in self._refused.items()),
            (("Keep the files", self._keep), ("Overwrite", self._overwrite)),
        )
        self.asked.emit(notice)

    def _keep(self) -> None:
        self._refused.clear()
        self.asked.emit(NO_NOTICE)

    def _overwrite(self) -> None:
        # All outputs are saved again, so that the files show the same frame.
        self._session.post(SaveOutputs(overwrites=tuple(self._refused)))
        self._keep()
