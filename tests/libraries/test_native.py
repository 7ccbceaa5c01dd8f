"""Libraries without Python bindings: the error if one is missing, and the status that their functions return."""

from types import SimpleNamespace

import pytest
from cuda.pathfinder import DynamicLibNotFoundError

from warploom.engine.libraries.call import LibraryError
from warploom.engine.libraries.cuda import native


def test_a_missing_library_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """The error for a missing library names the wheel to install."""

    def find(name: str) -> None:
        raise DynamicLibNotFoundError(f"no {name} anywhere")

    monkeypatch.setattr(native, "load_nvidia_dynamic_lib", find)
    with pytest.raises(LibraryError, match=r"libnppif must be installed.*got none") as missing:
        native.NativeLibrary("nppif", "nvidia-npp")
    assert missing.value.remedy.startswith("pip install nvidia-npp")


def test_a_status_that_is_not_0_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """A status other than 0 is an error; the C library stands in for one of NVIDIA's here."""
    monkeypatch.setattr(native, "load_nvidia_dynamic_lib", lambda name: SimpleNamespace(abs_path="libc.so.6"))
    library = native.NativeLibrary("c", "libc6")
    library.call("abs", 0)
    with pytest.raises(native.StatusError, match=r"^abs returned 5$"):
        library.call("abs", -5)
    assert library.text("strerror", 2) == "No such file or directory"
