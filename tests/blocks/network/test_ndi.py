"""NDI over loopback: a picture that one patch sends is the picture that another one gets."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from subprocess import PIPE, STDOUT

import numpy as np
import pytest

from warploom.blocks.network.ndi import NdiInput, NdiOutput, picture_of, scaled
from warploom.engine.diagnostics import PatchError

ROOT = Path(__file__).parents[3]


#: The width and height of pictures that NDI Out sends, and, with an order of bytes, of those that the library sends.
SENT = ["64 32", "63 33", "33 63 BGRA"]


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, subprocess.Popen[str]]]:
    """A program for each picture that sends and receives. They run at once, since sources are found after some seconds.

    They are programs of their own, since the library ends its threads with the process only.
    """
    folder = tmp_path_factory.mktemp("ndi")
    (folder / "ndi-config.v1.json").write_text(json.dumps({"ndi": {"networks": {"ips": "127.0.0.1"}}}))
    environment = {**os.environ, "NDI_CONFIG_DIR": str(folder), "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "tests.blocks.network.ndi_loopback"]
    with ExitStack() as stack:
        yield {
            sent: stack.enter_context(
                subprocess.Popen(
                    [*command, *sent.split()], env=environment, cwd=ROOT, stdout=PIPE, stderr=STDOUT, text=True
                )
            )
            for sent in SENT
        }


@pytest.mark.parametrize("sent", SENT)
def test_a_picture_goes_through_ndi(programs: dict[str, subprocess.Popen[str]], sent: str) -> None:
    """Colours agree within what NDI's compression loses, also for sources of odd sizes; part of a name is enough."""
    output, _ = programs[sent].communicate()
    if "no source" in output:
        pytest.skip("this machine's network does not let NDI find its own sources")
    assert programs[sent].returncode == 0, output


def test_a_missing_library_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """The message has the command that installs it."""
    monkeypatch.setitem(sys.modules, "cyndilib", None)
    for make in (lambda: NdiInput("", 2, 2), lambda: NdiOutput("w", 2, 2, 60)):
        with pytest.raises(PatchError, match=r"pip install 'warploom\[network\]'"):
            make()


@pytest.mark.parametrize("size", [(2, 3), (4, 6), (1, 1), (5, 7)])
def test_pictures_are_scaled_to_the_nearest_pixels(size: tuple[int, int]) -> None:
    """Each pixel is that of the source whose place is nearest below."""
    picture = np.arange(4 * 6 * 4, dtype=np.uint8).reshape(4, 6, 4)
    expected = [[picture[y * 4 // size[0], x * 6 // size[1]] for x in range(size[1])] for y in range(size[0])]
    np.testing.assert_array_equal(scaled(picture, *size), expected)


def test_a_picture_that_is_cut_is_left_out() -> None:
    """Rows may be longer than the picture; bytes that don't fill its rows are none."""
    data = np.arange(2 * 4 * 4, dtype=np.uint8)
    picture = picture_of(data, 2, 3)
    assert picture is not None
    np.testing.assert_array_equal(picture, data.reshape(2, 4, 4)[:, :3])
    for size, height, width in ((31, 2, 3), (24, 2, 4), (0, 2, 3), (32, 0, 3), (32, 2, 0), (32, -2, 3)):
        assert picture_of(data[:size], height, width) is None
