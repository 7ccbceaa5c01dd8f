"""`run_editor` in another process, as the command line starts it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from PIL import Image
from PySide6.QtCore import qCritical, qInstallMessageHandler, qWarning

from warploom.app.editor import _log_message
from warploom.engine.patch.document import Patch
from warploom.engine.patch.files import dump_patch, save_patch

ROOT = Path(__file__).parents[2]
#: Cache folders for kernels and bytecode, so that the process does not compile again what another test compiled.
_SHARED = ("XDG_CACHE_HOME", "PYTHONPYCACHEPREFIX")


def run(code: str, state: Path, *, display: bool = True) -> subprocess.CompletedProcess[str]:
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(state), "XDG_STATE_HOME": str(state), "PYTHONPATH": str(ROOT)}
    environment |= {name: os.environ[name] for name in _SHARED if name in os.environ}
    if display:
        environment["QT_QPA_PLATFORM"] = "offscreen"
    return subprocess.run(
        [sys.executable, "-c", code],
        env=environment,
        cwd=state,
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_screenshot_shows_the_running_patch_and_leaves_no_trace(tmp_path: Path) -> None:
    """A screenshot shows the running patch with its picture, even without a display, and saves no state."""
    patch = Patch()
    photo = patch.add("io.load_image", file=str(ROOT / "resources" / "media" / "still_life.jpg"))
    viewer = patch.add("io.viewer")
    patch.connect(photo["out"], viewer["image"])
    save_patch(patch, tmp_path / "photo.loom")
    target = tmp_path / "shot.png"
    code = (
        "import sys; from pathlib import Path; from warploom.app.editor import run_editor; "
        f"sys.exit(run_editor(Path('photo.loom'), 'host', Path({str(target)!r})))"
    )
    done = run(code, tmp_path, display=False)
    assert done.returncode == 0, done.stderr
    picture = Image.open(target).convert("RGB")
    assert picture.width >= 1000
    viewer = picture.crop((picture.width - 360, 90, picture.width - 10, 340))
    assert len(viewer.getcolors(maxcolors=10**6) or []) > 500  # the photograph; a hint would have a few greys
    assert not (tmp_path / "warploom").exists()


def test_a_missing_display_is_reported(tmp_path: Path) -> None:
    """Without a display and without --screenshot, the editor prints an error, and Qt does not abort the process."""
    code = (
        "from warploom.app.editor import run_editor; from engine.diagnostics import WarploomError\n"
        "try: run_editor(None, 'host', None)\n"
        "except WarploomError as problem: print(problem)"
    )
    done = run(code, tmp_path, display=False)
    assert "the editor must have a display, got none" in done.stdout, done.stderr


@pytest.mark.parametrize(("engine", "status"), [(None, 1), ("false", 3)])
def test_a_screenshot_of_what_does_not_run_says_so(tmp_path: Path, engine: str | None, status: int) -> None:
    """A screenshot of a patch that does not run is saved, and the exit status and a message report the failure."""
    patch = Patch()
    patch.add("math.saxpy")
    (tmp_path / "wrong.loom").write_text(dump_patch(patch).replace("math.saxpy", "math.nothing"))
    code = (
        "import sys; from pathlib import Path; from warploom.app.editor import run_editor; "
        f"sys.exit(run_editor(Path('wrong.loom'), 'host', Path('shot.png'), engine={engine!r}))"
    )
    done = run(code, tmp_path)
    assert done.returncode == status, done.stderr
    assert ("got math.nothing" in done.stderr) == (engine is None)
    with Image.open(tmp_path / "shot.png") as picture:
        assert picture.width >= 1000


def test_messages_of_qt_are_log_records(caplog: pytest.LogCaptureFixture) -> None:
    """Qt's messages are log records of their level, except one that its offscreen platform repeats."""
    before = qInstallMessageHandler(_log_message)
    try:
        qWarning("%d is % wrong")
        qCritical("worse")
        qWarning("This plugin does not support propagateSizeHints()")
    finally:
        qInstallMessageHandler(before)
    told = [(record.name, record.levelname, record.getMessage()) for record in caplog.records]
    assert told == [("warploom.app.qt", "WARNING", "%d is % wrong"), ("warploom.app.qt", "ERROR", "worse")]
