"""Exports of the profiler and the flight recorder, as the command line writes them."""

from collections.abc import Callable, Mapping
from pathlib import Path

from PySide6.QtWidgets import QApplication, QToolButton

from warploom.app.docks.dock import Editor
from warploom.app.documents import dialogs
from warploom.app.theme.icons import icon
from warploom.engine.diagnostics import PatchError, WarploomError
from warploom.engine.patch.files import write_atomically
from warploom.engine.profiling.exports import profile_csv, profile_json
from warploom.engine.profiling.profile import Profile
from warploom.engine.profiling.trace import chrome_trace
from warploom.engine.protocol.client import Client
from warploom.engine.protocol.flight_record import FlightRecord, record_csv, record_json

_TRACED = 10
#: By suffix, what a file of it is, and how its text is made.
Forms = Mapping[str, tuple[str, Callable[[Client], str]]]


def export_profile(editor: Editor) -> None:
    """Ask for a file, and write the last measured frame, or a trace of frames that run now."""
    forms: Forms = {
        ".csv": ("Times as a table", lambda engine: profile_csv(_measured(engine.profile()))),
        ".json": ("Profile with all details", lambda engine: profile_json(_measured(engine.profile()))),
        ".trace.json": (f"Trace of {_TRACED} frames", lambda engine: chrome_trace(engine.trace(_TRACED))),
    }
    _export(editor, "profile", forms)


def export_record(editor: Editor, shown: FlightRecord | None = None) -> None:
    """Ask for a file, and write the flight record that is shown, or the present one."""
    forms: Forms = {
        ".csv": ("Frames as a table", lambda engine: record_csv(shown or engine.flight_record())),
        ".json": ("Frames and events", lambda engine: record_json(shown or engine.flight_record()).decode()),
    }
    _export(editor, "flight record", forms)


def export_button(what: str, export: Callable[[], object]) -> QToolButton:
    """Return a button that exports."""
    button = QToolButton(text="Export …", icon=icon("save"), toolTip=f"Write the {what} to a file")
    button.setAccessibleName(f"Export the {what}")
    button.clicked.connect(lambda: export())
    return button


def _export(editor: Editor, what: str, forms: Forms) -> None:
    engine, patch = editor.session.engine, editor.session.patch
    if engine is None or patch is None:
        editor.note(f"No {what} to export: no engine runs")
        return
    name = patch.path.stem if patch.path is not None else "patch"
    suggestion = (patch.path.parent if patch.path is not None else Path.home()) / f"{name}.{what.replace(' ', '-')}.csv"
    titles = {suffix: title for suffix, (title, _) in forms.items()}
    path = dialogs.ask_export(QApplication.activeWindow(), f"Export the {what}", suggestion, titles)
    if path is None:
        return
    suffix = max((each for each in forms if path.name.endswith(each)), key=len)

    def work() -> str:
        try:
            write_atomically(path, forms[suffix][1](engine).encode())
        except (OSError, WarploomError) as problem:
            return f"{what} must be writable to {path.name}, got: {problem}"
        return ""

    def report(problem: str | None) -> None:
        failed = problem or f"{path.name} must be writable, got an error that the log shows"
        editor.note(f"Wrote {path}" if problem == "" else failed)

    editor.beside.run(f"Writing {path.name} …", work, report, lambda: editor.note(f"{path.name} was not written"))


def _measured(profile: Profile) -> Profile:
    if not profile.measured_frames:
        raise PatchError("no frame was measured yet; choose a profiling level, and let the patch play")
    return profile
