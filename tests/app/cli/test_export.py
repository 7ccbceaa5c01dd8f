"""`warploom export`."""

import base64
import json
import re
import runpy
import sys
import zlib
from pathlib import Path

import pytest

from tests.app.cli.cli_support import Warploom


def test_a_script_saves_what_run_saves(
    warploom: Warploom, saxpy_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The script of a patch saves the same files as `warploom run` of the patch."""
    script, ours, theirs = tmp_path / "deep" / "script.py", tmp_path / "ours", tmp_path / "theirs"
    assert warploom("export", saxpy_file, "--python", script).status == 0
    words = ("--device", "host", "--frames", "2", "--out")
    assert warploom("run", saxpy_file, *words, ours).status == 0
    monkeypatch.setattr(sys, "argv", [str(script), *words, str(theirs)])
    with pytest.raises(SystemExit) as end:
        runpy.run_path(str(script), run_name="__main__")
    assert not end.value.code
    files = sorted(path.name for path in ours.iterdir())
    assert files and files == sorted(path.name for path in theirs.iterdir())
    for name in files:
        assert (ours / name).read_bytes() == (theirs / name).read_bytes()


def test_wrong_usage_is_told(warploom: Warploom, saxpy_file: Path, tmp_path: Path) -> None:
    """A missing option, a file that is no script and a file in place of a folder get one message each."""
    found = warploom("export", saxpy_file)
    assert (found.status, "must be given" in found.err) == (2, True)
    found = warploom("export", saxpy_file, "--python", "a.py", "--standalone", "b.py")
    assert (found.status, "one of --python, --standalone, --cpp must be given, got 2" in found.err) == (2, True)
    found = warploom("export", saxpy_file, "--standalone", "b.py", "--architecture", "gpu")
    assert (found.status, "--architecture must be a GPU's, such as sm_90" in found.err) == (2, True)
    found = warploom("export", saxpy_file, "--python", saxpy_file)
    assert (found.status, "--python must be a .py file" in found.err) == (2, True)
    found = warploom("export", saxpy_file, "--cpp", saxpy_file)
    assert (found.status, "--cpp must be a folder, got the file" in found.err) == (2, True)
    found = warploom("export", saxpy_file, "--python", saxpy_file / "script.py")
    assert (found.status, "program must be writable" in found.err) == (1, True)


def test_a_program_has_the_kernels_of_a_gpu(warploom: Warploom, saxpy_file: Path, tmp_path: Path) -> None:
    """`--standalone` with an architecture writes a program with CUBIN and PTX; NVRTC needs no GPU for that."""
    program = tmp_path / "program.py"
    assert warploom("export", saxpy_file, "--standalone", program, "--architecture", "sm_90").status == 0
    found = re.search(r'^DATA = r"(.*)"$', program.read_text(), re.MULTILINE)
    assert found is not None
    data = json.loads(zlib.decompress(base64.b85decode(found[1])))
    assert [base64.b64decode(module["cubin"])[:4] for module in data["modules"]] == [b"\x7fELF"]
    assert ".entry saxpy" in data["modules"][0]["ptx"]
