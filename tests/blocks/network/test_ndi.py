"""NDI over loopback: a picture that one patch sends is the picture that another one gets."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from blocks.network.ndi import NdiInput, NdiOutput, scaled
from engine.diagnostics import PatchError

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize("size", [(64, 32), (63, 33)])
def test_a_picture_goes_through_ndi(tmp_path: Path, size: tuple[int, int]) -> None:
    """Colours agree within what NDI's compression loses, at odd sizes too; a source is found by a part of its name.

    The program is one of its own, since the library ends its threads with the process only.
    """
    networks = {"ips": "127.0.0.1"}
    (tmp_path / "ndi-config.v1.json").write_text(json.dumps({"ndi": {"networks": networks}}))
    environment = {**os.environ, "NDI_CONFIG_DIR": str(tmp_path), "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "tests.blocks.network.ndi_loopback", *map(str, size)]
    result = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, timeout=120)
    if "no source" in result.stdout:
        pytest.skip("this machine's network does not let NDI find its own sources")
    assert result.returncode == 0, result.stdout + result.stderr


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
