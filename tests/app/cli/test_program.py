"""The program as a process: its exit status, its output, and the modules it loads."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.app.cli.cli_support import EXAMPLES


@pytest.mark.parametrize(
    ("command", "status"),
    [
        ("blocks --json | true", 1),
        ("blocks | true", 1),
        ("blocks > /dev/full", 1),
        ("devices --json > /dev/full", 1),
        ("devices --json >&-", 0),
        ("check missing.loom 2>&-", 1),
    ],
)
def test_the_program_ends_quietly_when_its_output_cannot_be_written(command: str, status: int, tmp_path: Path) -> None:
    """A closed pipe, a full disk or a missing stream ends the program without a traceback.

    `set -o pipefail` makes the shell return the program's own status.
    """
    done = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {sys.executable} -m app {command}"],
        env={**os.environ, "PYTHONPATH": str(EXAMPLES.parents[1])},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == status
    assert "Traceback" not in done.stderr
    assert "Unexpected" not in done.stderr
    assert "Exception" not in done.stderr


@pytest.mark.parametrize(("handler", "status"), [("default_int_handler", 130), ("SIG_IGN", 0)])
def test_ctrl_c_during_the_imports_ends_the_program(handler: str, status: int) -> None:
    """Ctrl+C during the imports ends the program silently, or is ignored if SIGINT is, as in background jobs."""
    program = f"""
import os, signal, sys
from importlib.abc import MetaPathFinder

class Interrupting(MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name == "click":
            os.kill(os.getpid(), signal.SIGINT)

signal.signal(signal.SIGINT, signal.{handler})
sys.meta_path.insert(0, Interrupting())
sys.argv = ["warploom", "--version"]
from warploom.app.start import main
main()
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr, bool(done.stdout)) == (status, "", status == 0)


@pytest.mark.parametrize("package", ["warploom", "app"])
def test_python_m_is_the_same_program(package: str) -> None:
    """`python -m warploom` runs the same program without an installed script, and in a checkout `python -m app`."""
    done = subprocess.run([sys.executable, "-m", package, "devices"], capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert "host" in done.stdout
    assert "Traceback" not in done.stderr


def loaded_by(code: str) -> set[str]:
    """Return the modules that Python loads while it runs some code."""
    done = subprocess.run(
        [sys.executable, "-c", f"import atexit, sys; atexit.register(lambda: print(*sys.modules))\n{code}"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert not done.stderr
    return set(done.stdout.splitlines()[-1].split())


QT = {"PySide6", "Qt", "NodeGraphQt"}


def test_the_engine_loads_no_qt() -> None:
    """Importing the engine and making a patch loads no module of Qt."""
    loaded = loaded_by("from warploom import Engine, Patch; Patch()")
    assert "warploom.engine.runtime.engine" in loaded
    assert not QT & loaded


def test_the_engine_imports_only_what_is_used() -> None:
    """`import warploom` loads none of its modules, and a patch only the blocks that are asked for.

    Even all blocks load no compiler, no device, and none of the large parts of numpy that few patches use.
    """
    assert not {"numpy", "msgspec", "llvmlite", "cuda"} & loaded_by("import warploom")
    assert "warploom.blocks.tensor.digits" not in loaded_by("import warploom; warploom.Patch().add('math.add')")
    loaded = loaded_by("import warploom; warploom.Patch().catalogue.all()")
    assert "warploom.blocks.tensor.digits" in loaded
    assert not {"warploom.engine.compiler", "warploom.engine.runtime.engine", "warploom.engine.device.open"} & loaded
    assert not {"numpy.ma", "numpy.random"} & loaded


def test_help_loads_neither_the_engine_nor_qt() -> None:
    """`--help` loads neither the engine nor Qt, so it is fast."""
    loaded = loaded_by(
        "import sys; sys.argv = ['warploom', '--help']\nfrom warploom.app.cli.command_line import main\nmain()"
    )
    assert {name for name in loaded if name.startswith("warploom.engine")} == {
        "warploom.engine",
        "warploom.engine.diagnostics",
        "warploom.engine.logs",
    }
    assert not (QT | {"numpy", "rich", "pydantic", "typer"}) & loaded


@pytest.mark.parametrize("words", [["run", "colours", "--device", "host", "--frames", "1", "--json"], ["--version"]])
def test_a_checkout_that_is_not_installed_runs(words: list[str], tmp_path: Path) -> None:
    """A checkout that is not installed runs, with the version of its `pyproject.toml`."""
    program = f"""
import sys
from importlib import metadata

found = metadata.Distribution.from_name

def hidden(name):
    if name == "warploom":
        raise metadata.PackageNotFoundError(name)
    return found(name)

metadata.Distribution.from_name = hidden
sys.argv = ["warploom", *{words!r}]
from warploom.app.start import main
main()
"""
    environment = os.environ | {"PYTHONPATH": str(EXAMPLES.parents[1])}
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert words != ["--version"] or done.stdout == "warploom, version 0.2.0\n"
