"""`python -m warploom setup [dev]`: makes `.venv` in a clone, with what Warploom needs. It needs only Python itself.

On Linux, `tools/setup.sh` does the work, which also looks for libraries of the system. On Windows and macOS, Qt's
packages bring all of them.
"""

import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).parents[1]
_VERSIONS = (3, 11), (3, 13)
_KINDS = {"run": ("editor", "requirements.lock"), "dev": ("dev", "requirements-dev.lock")}


def main(arguments: list[str]) -> int:
    """Set up a clone, and return the exit status. `arguments` may have one word: "run", the default, or "dev"."""
    kind = arguments[0] if arguments else "run"
    if len(arguments) > 1 or kind not in _KINDS:
        return _refuse(f"setup must be followed by nothing or by dev, got {' '.join(arguments)}")
    if not (ROOT / "pyproject.toml").is_file():
        return _refuse("setup must run in a clone of the repository, got an installation, which needs none")
    if not _VERSIONS[0] <= sys.version_info[:2] <= _VERSIONS[1]:
        wanted = " to ".join(f"{major}.{minor}" for major, minor in _VERSIONS)
        return _refuse(f"Python must be {wanted}, got {sys.version.split()[0]} ({sys.executable})")
    if sys.platform == "linux":
        return subprocess.run([str(ROOT / "tools" / "setup.sh"), kind], check=False).returncode
    programs = ROOT / ".venv" / ("Scripts" if sys.platform == "win32" else "bin")
    python = programs / ("python.exe" if sys.platform == "win32" else "python")
    if not python.exists():
        _say("making .venv")
        venv.create(ROOT / ".venv", with_pip=True, clear=True)
    _say("installing Python packages; this takes a minute or two the first time")
    extra, lock = _KINDS[kind]
    # The lock is that of Linux: it gives the versions of packages that other systems have too.
    command = [str(python), "-m", "pip", "install", "-q", "-e", f".[{extra}]", "-c", lock]
    status = subprocess.run(command, cwd=ROOT, check=False).returncode
    if status == 0:
        _say(f"done; start it by {programs.relative_to(ROOT) / 'warploom'}")
    return status


def _say(text: str) -> None:
    sys.stderr.write(f"setup: {text}\n")


def _refuse(text: str) -> int:
    _say(text)
    return 2
