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


def test_windows_keep_what_others_have_saved(tmp_path: Path) -> None:
    """Each window writes what it has changed; files that any of them opens are recent in all."""
    windows = [UserState(), UserState()]
    saved = [save_state(state, tmp_path, UserState()) for state in windows]

    def save(window: int) -> None:
        saved[window] = save_state(windows[window], tmp_path, saved[window])

    for window, name in ((0, "a"), (1, "b"), (0, "c")):
        windows[window].add_recent(tmp_path / name)
        save(window)
    windows[1].theme = "light"
    save(1)
    windows[0].scale = 1.5
    save(0)
    now = load_state(tmp_path)
    assert [Path(path).name for path in now.recent] == ["c", "b", "a"]
    assert (now.theme, now.scale) == ("light", 1.5)
    windows[1].recent.clear()
    save(1)
    assert load_state(tmp_path).recent == []


def test_what_a_window_holds_replaces_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    """Otherwise all settings that the window has not changed would be lost."""
    state = UserState(recent=["/a.loom"], theme="light", keys={"undo": ["F8"]})
    saved = save_state(state, tmp_path)
    (tmp_path / "editor.json").write_text("{")
    state.scale = 1.5
    save_state(state, tmp_path, saved)
    assert load_state(tmp_path) == state
