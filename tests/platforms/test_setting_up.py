"""`python -m warploom setup`: what it does on each system, and what it needs."""

import subprocess
import sys
import venv
from pathlib import Path
from typing import Any

import pytest

from tests.platforms.systems import SYSTEMS, pretend
from warploom import setting_up

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("kind", ["run", "dev"])
@pytest.mark.parametrize("system", SYSTEMS)
def test_each_system_gets_its_environment(
    system: str, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Linux runs the script that make runs; elsewhere an environment is made once, with the versions of the lock."""
    ran, made = list[list[str]](), list[Path]()

    def run(command: list[str], **_: Any) -> subprocess.CompletedProcess[bytes]:
        ran.append(command)
        return subprocess.CompletedProcess(command, 0)

    def create(folder: Path, **_: Any) -> None:
        made.append(folder)
        for name in ("bin/python", "Scripts/python.exe"):
            (folder / name).parent.mkdir(parents=True)
            (folder / name).touch()

    (tmp_path / "pyproject.toml").touch()
    monkeypatch.setattr(setting_up, "ROOT", tmp_path)
    monkeypatch.setattr(subprocess, "run", run)
    monkeypatch.setattr(venv, "create", create)
    monkeypatch.setattr(sys, "version_info", (3, 12, 1))
    pretend(monkeypatch, system)
    assert setting_up.main([kind] if kind == "dev" else []) == 0
    assert setting_up.main([kind]) == 0
    if system == "linux":
        assert ran == 2 * [[str(tmp_path / "tools" / "setup.sh"), kind]]
        return
    assert made == [tmp_path / ".venv"]
    python = tmp_path / ".venv" / ("Scripts/python.exe" if system == "win32" else "bin/python")
    extra, lock = (".[dev]", "requirements-dev.lock") if kind == "dev" else (".[editor]", "requirements.lock")
    assert ran == 2 * [[str(python), "-m", "pip", "install", "-q", "-e", extra, "-c", lock]]


def test_a_python_without_any_package_runs_it() -> None:
    """No package is needed before the environment is there, and a wrong word is one message."""
    command = [sys.executable, "-S", "-m", "warploom", "setup", "everything"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "setup: setup must be followed by nothing or by dev, got everything\n"


def test_another_python_and_an_installation_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A Python without wheels of all libraries is named, and so is a place that is no clone."""
    monkeypatch.setattr(sys, "version_info", (3, 10, 4))
    assert setting_up.main([]) == 2
    assert "Python must be 3.11 to 3.13, got" in capsys.readouterr().err
    monkeypatch.setattr(setting_up, "ROOT", tmp_path)
    assert setting_up.main([]) == 2
    assert "must run in a clone" in capsys.readouterr().err
