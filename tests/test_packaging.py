"""The wheel installs a complete Warploom that works from any folder."""

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tomllib
from pathlib import Path

import pytest
from PIL import Image

from warploom.engine.catalogue.catalogue import default_catalogue

ROOT = Path(__file__).parents[1]
#: Sources of the wheel. The test builds in a copy of them, since a build leaves files in its folder.
SOURCES = (
    "app",
    "blocks",
    "engine",
    "kernels",
    "resources",
    "warploom",
    "setup.py",
    "pyproject.toml",
    "README.md",
    "LICENSE",
)
#: Warploom's own packages in the test environment, which the fresh environment must not see.
_OWN = ("warploom", "engine", "__editable__")
#: Python code that opens every example of the package, and plans three of them, which compiles their kernels. These
#: have CUDA C++ with the library's headers, op graphs, library calls and media.
_CHECK_ALL = """
from warploom.engine.patch.files import EXAMPLES_FOLDER, load_patch
from warploom.engine.runtime.check.check_patch import plan_patch
for path in sorted(EXAMPLES_FOLDER.glob("*.loom")):
    patch = load_patch(path, trust=True)
    problems = [node.type for node in patch.without_groups().nodes.values() if not patch.catalogue.get(node.type)]
    if path.stem in ("bokeh", "slideshow", "spectrogram"):
        plan, found = plan_patch(patch)
        problems += [item.message for item in found] + (["no plan"] if plan is None or not plan.operations else [])
    print(path.stem, problems)
"""


def tree(folder: Path) -> dict[str, bytes]:
    """Return the contents of all files in a folder, except Python's caches."""
    files = (path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fresh environment with the wheel and the third-party libraries of the test environment."""
    pytest.importorskip("setuptools", minversion="77", reason="`make setup-dev` installs what builds a wheel")
    folder = tmp_path_factory.mktemp("wheel")
    (folder / "source").mkdir()
    for name in SOURCES:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, folder / "source" / name, symlinks=True)
        else:
            shutil.copy(ROOT / name, folder / "source" / name)
    (folder / "source" / "resources" / "examples" / "edges.png").write_bytes(b"of an earlier run")
    alone = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME")}

    def call(*words: object) -> None:
        subprocess.run([*map(str, words)], check=True, cwd=folder, env=alone)

    call(sys.executable, "-m", "pip", "wheel", "-q", "--no-build-isolation", "--no-deps", "-w", folder, "./source")
    call(sys.executable, "-m", "venv", "--without-pip", folder / "fresh")
    python = folder / "fresh" / "bin" / "python"
    packages = Path(sysconfig.get_path("purelib", vars={"base": str(folder / "fresh")}))
    for found in Path(sysconfig.get_path("purelib")).iterdir():
        if not found.name.startswith(_OWN) and found.suffix != ".pth":
            (packages / found.name).symlink_to(found)
    (wheel,) = folder.glob("*.whl")
    options = "-q", "--no-deps", "--no-index", "--no-compile"
    call(sys.executable, "-m", "pip", "--python", python, "install", *options, wheel)
    return folder / "fresh"


def run(environment: Path, folder: Path, *words: str) -> str:
    """Run a program of the environment in a folder, as a person would, and return its output."""
    hidden = ("PYTHONPATH", "PYTHONHOME", "QT_QPA_PLATFORM", "DISPLAY", "WAYLAND_DISPLAY")
    alone = {name: value for name, value in os.environ.items() if name not in hidden}
    program = environment / "bin" / words[0]
    done = subprocess.run([program, *words[1:]], cwd=folder, env=alone, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return done.stdout


def test_an_installed_warploom_runs_every_example_from_anywhere(environment: Path, tmp_path: Path) -> None:
    """Examples are run by name from any folder, write what they save there, and leave the package unchanged.

    One example runs to its end. Kernels have the bytes of the repository's, whose tests compile all of them; so only
    those of three more examples are compiled, which shows that the package's files are found.
    """
    (package,) = environment.glob("lib/python*/site-packages")
    shipped = tree(package / "warploom" / "resources")
    folders = "examples/", "help/", "media/"
    assert set(shipped) == {name for name in tree(ROOT / "resources") if name.startswith(folders)}
    kernels = tree(ROOT / "kernels")
    del kernels["README.md"]
    assert tree(package / "warploom" / "kernels") == kernels
    result = json.loads(
        run(environment, tmp_path, "warploom", "run", "photo", "--device", "host", "--frames", "1", "--json")
    )
    assert result["diagnostics"] == []
    (saved,) = [output["path"] for output in result["outputs"] if output["path"]]
    assert Path(saved) == tmp_path / "edges.png"
    with Image.open(saved) as picture:
        assert picture.size > (100, 100)
    names = sorted(path.stem for path in (ROOT / "resources" / "examples").glob("*.loom"))
    assert run(environment, tmp_path, "python", "-c", _CHECK_ALL).splitlines() == [f"{name} []" for name in names]
    assert tree(package / "warploom" / "resources") == shipped


def test_an_installed_warploom_has_the_blocks_and_the_editor(environment: Path, tmp_path: Path) -> None:
    """The installed library has each block of the repository once. The window opens with the gallery and its icons."""
    blocks = json.loads(run(environment, tmp_path, "warploom", "blocks", "--json"))["blocks"]
    assert [block["id"] for block in blocks] == [
        block.id for block in default_catalogue().all() if block.__module__.startswith("warploom.blocks.")
    ]
    run(environment, tmp_path, "warploom", "--screenshot", "window.png")
    with Image.open(tmp_path / "window.png") as picture:
        colours = picture.convert("RGB").getcolors(1 << 24)
    assert colours is not None
    assert len(colours) > 100
    assert sorted(path.name for path in tmp_path.iterdir()) == ["window.png"]


def test_the_package_has_the_version_of_the_newest_changes() -> None:
    """The package's version is that of the changelog's first section."""
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    newest = next(line for line in (ROOT / "CHANGELOG.md").read_text().splitlines() if line.startswith("## "))
    assert newest.split()[1] == version
