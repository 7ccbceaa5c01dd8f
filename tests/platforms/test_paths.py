r"""Paths of other systems: drives, backslashes, names that Windows refuses, case, and long paths."""

import errno
from pathlib import Path, PureWindowsPath

import pytest

from tests.platforms.systems import SYSTEMS, pretend
from warploom import Patch, load_patch, save_patch
from warploom.blocks.io.save_image import SaveImage
from warploom.engine.blocktypes.found_files import found_file
from warploom.engine.blocktypes.parameters import given
from warploom.engine.diagnostics import PatchError
from warploom.engine.patch.files import write_atomically
from warploom.engine.patch.trust import SavePlace
from warploom.engine.platforms import paths
from warploom.engine.protocol.child.encoding import encode, make_decoder
from warploom.engine.protocol.questions import SaveTo
from warploom.engine.readings import mirror_in

BACK = "\\"


@pytest.mark.parametrize(
    ("text", "here", "there"),
    [
        (r"C:\shots\sky.png", "/C:/shots/sky.png", r"C:\shots\sky.png"),
        ("C:/shots/sky.png", "/C:/shots/sky.png", r"C:\shots\sky.png"),
        ("/C:/shots/sky.png", "/C:/shots/sky.png", r"C:\shots\sky.png"),
        (r"\\server\share\sky.png", "//server/share/sky.png", r"\\server\share\sky.png"),
        ("shots/größe 1.png", "shots/größe 1.png", r"shots\größe 1.png"),
        ("/home/ada/sky.png", "/home/ada/sky.png", r"\home\ada\sky.png"),
    ],
)
def test_a_path_names_the_same_file_on_two_systems(
    text: str, here: str, there: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A path with a drive is below a folder of that name elsewhere, and back on Windows it has its drive again."""
    assert paths.path_of(text).as_posix() == here
    pretend(monkeypatch, "win32")
    assert PureWindowsPath(str(paths.path_of(here))) == PureWindowsPath(there)


def test_a_file_of_a_windows_patch_is_found(tmp_path: Path) -> None:
    """A path with backslashes leads to the file below the patch, and a whole path of Windows to one beside it."""
    (tmp_path / "shots").mkdir()
    file = tmp_path / "shots" / "sky 1.png"
    file.write_bytes(b"")
    for text in (r"shots\sky 1.png", r".\shots\sky 1.png", r"C:\Users\Ada\shots\sky 1.png", r"\\nas\x\shots\sky 1.png"):
        assert found_file(tmp_path, text) == file
    odd = tmp_path / r"a\b.png"
    odd.write_bytes(b"")
    assert found_file(tmp_path, r"a\b.png") == odd  # Linux allows such names
    assert found_file(tmp_path, r"gone\x.png") == tmp_path / r"gone\x.png"


def test_an_engine_has_the_files_of_a_machine_with_windows(tmp_path: Path) -> None:
    """An engine on Linux finds the files that an editor on Windows has sent, by their paths there."""
    file = tmp_path / "C:" / "shots" / "sky.png"
    file.parent.mkdir(parents=True)
    file.write_bytes(b"")
    (tmp_path / "C:" / "patches").mkdir()
    mirror_in(tmp_path)
    try:
        for text in (r"C:\shots\sky.png", "C:/shots/sky.png", "../shots/sky.png"):
            assert found_file(Path("/C:/patches"), text).resolve() == file
    finally:
        mirror_in(None)


@pytest.mark.parametrize("system", SYSTEMS)
def test_a_saved_path_has_slashes(system: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Backslashes in the name of a file to write become slashes; in Windows, the patch stores slashes too."""
    pretend(monkeypatch, system)
    spec, typed = SaveImage.parameters["file"], r"out\frame.png"
    assert spec.coerce(typed) == ("out/frame.png" if system == "win32" else typed)
    assert given(spec, {"file": typed}, lambda: tmp_path) == "out/frame.png"


@pytest.mark.parametrize(
    ("name", "is_refused"),
    [
        *((name, True) for name in ("CON", "con.png", "Nul.tar.gz", "aux", "COM1.exr", "lpt9", "COM¹", "prn .png")),
        *((name, True) for name in ("a:b.png", "a?.png", "what*", 'q"', "a|b", "end.", "end ", "a\tb", "a<b>")),
        *((name, False) for name in ("console.png", "com10", "nul_1.png", ".con", "größe 1.png", "a.b.c", "COM", "𝄞")),
    ],
)
def test_windows_refuses_names(name: str, is_refused: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Devices of Windows, characters that it lacks and ends that it drops make no file; other systems take all."""
    assert paths.why_refused(name) == ""
    pretend(monkeypatch, "win32")
    assert bool(paths.why_refused(name)) is is_refused
    refused = SavePlace(Path("/patch"), trusted=True).refusal("node", Path("/patch") / name)
    assert (refused is not None) is is_refused


def test_a_patch_is_not_saved_as_a_device(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Saving as CON.loom on Windows is one message, and no file."""
    pretend(monkeypatch, "win32")
    with pytest.raises(PatchError, match=r"CON\.loom: Windows has a device of this name"):
        save_patch(Patch(), tmp_path / "CON.loom")
    with pytest.raises(OSError) as refused:
        write_atomically(tmp_path / "nul", b"")
    assert refused.value.errno == errno.EINVAL
    assert not list(tmp_path.iterdir())


def test_case_counts_where_the_system_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two outputs whose names differ in case only get other names on Windows and macOS."""
    upper, lower = Path("out/A.png"), Path("out/a.png")
    assert paths.name_key(upper) != paths.name_key(lower)
    for system in ("win32", "darwin"):
        pretend(monkeypatch, system)
        assert paths.name_key(upper) == paths.name_key(lower)


def test_long_paths_are_literal_on_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    """A path that Windows would refuse as too long gets the prefix with which it opens it."""
    long = BACK.join(["C:", *["folder"] * 60])
    assert paths.reachable(long) == long
    pretend(monkeypatch, "win32")
    assert paths.reachable(long) == rf"\\?\{long}"
    assert paths.reachable(long.replace(BACK, "/")) == rf"\\?\{long}"
    assert paths.reachable(rf"\\nas\share\{long[3:]}") == rf"\\?\UNC\nas\share\{long[3:]}"
    assert paths.reachable(r"C:\short") == r"C:\short"
    assert paths.reachable(rf"\\?\{long}") == rf"\\?\{long}"
    assert paths.portable(r"a\b c") == "a/b c"
    assert paths.portable(rf"\\?\{long}") == rf"\\?\{long}"


def test_a_patch_with_a_long_and_odd_name_is_saved(tmp_path: Path) -> None:
    """Spaces, letters beyond ASCII and a path of 700 characters are no trouble."""
    folder = tmp_path.joinpath(*["größe und mehr"] * 45)
    folder.mkdir(parents=True)
    patch = Patch()
    save_patch(patch, folder / "mein patch é.loom")
    assert load_patch(folder / "mein patch é.loom").nodes == {}
    assert b"\r" not in (folder / "mein patch é.loom").read_bytes()


def test_messages_carry_paths_of_windows() -> None:
    """A path in a message from Windows arrives as the place in the mirror of that machine."""

    class WindowsPath(type(Path())):  # type: ignore[misc]
        def __fspath__(self) -> str:
            return r"C:\out"

    assert make_decoder(SaveTo).decode(encode(SaveTo(WindowsPath("x")))).folder == Path("/C:/out")  # type: ignore[arg-type]
