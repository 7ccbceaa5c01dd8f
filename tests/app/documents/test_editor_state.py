"""The editor's state survives a restart, and a damaged state file does no harm."""

from pathlib import Path

from warploom.app.documents.editor_state import RECENT_LIMIT, Arrangement, UserState, load_state, save_state


def test_state_survives_saving(tmp_path: Path) -> None:
    """All saved state is read back."""
    state = UserState(
        recent=["/a.loom"],
        theme="light",
        geometry=b"\x00\xff",
        arrangement=Arrangement(b"\x01", ["log"], {"log": (0.5, 0.25)}),
    )
    save_state(state, tmp_path / "new" / "folder")
    assert load_state(tmp_path / "new" / "folder") == state


def test_a_damaged_file_gives_a_fresh_state(tmp_path: Path) -> None:
    """A damaged state file is read as a fresh state."""
    for text in ("{", '{"recent": 3}', ""):
        (tmp_path / "editor.json").write_text(text)
        assert load_state(tmp_path) == UserState()


def test_recent_files_are_newest_first_once_and_limited(tmp_path: Path) -> None:
    """Recent files are listed once each, newest first, up to a limit."""
    state = UserState()
    files = [tmp_path / f"{i}.loom" for i in range(RECENT_LIMIT + 3)]
    for file in (*files, files[-2]):
        file.touch()
        state.add_recent(file)
    assert len(state.recent) == RECENT_LIMIT
    assert state.existing_recent()[:2] == [files[-2], files[-1]]


def test_recent_files_that_are_gone_are_not_offered(tmp_path: Path) -> None:
    """Recent files that no longer exist are not listed."""
    state = UserState()
    state.add_recent(tmp_path / "gone.loom")
    assert state.existing_recent() == []
