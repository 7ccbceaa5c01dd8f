"""Check types for Windows and macOS: `python tools/check_systems.py [--whole]`.

Only files are checked that import a standard module which differs between systems, each for itself: whether the module
has what the file uses. That takes a fifth of the time of `--whole`, which checks all files as `mypy` does for Linux.
"""

import re
import subprocess
import sys
from pathlib import Path

import mypy

ROOT = Path(__file__).parents[1]
ROOMS = ("app", "blocks", "engine")
_IMPORT = re.compile(r"^ *(?:import|from) (\w+)", re.MULTILINE)
#: Almost every file imports these, which differ in what no file here uses, such as a path's owner.
_SAME = {"builtins", "pathlib"}
#: The mistakes that count. Others come from names of modules that mypy doesn't read.
_MISTAKE = re.compile(r"^(?:warploom/engine/platforms/.*: error:|.*: error: Module has no attribute).*\n", re.MULTILINE)


def differing_modules() -> set[str]:
    """Return the standard modules whose types differ between systems."""
    types = Path(mypy.__file__).parent / "typeshed/stdlib"
    files = [path.relative_to(types) for path in types.rglob("*.pyi") if "sys.platform" in path.read_text("utf-8")]
    return {path.parts[0].removesuffix(".pyi") for path in files} - _SAME


def differing_files() -> list[str]:
    """Return the files of Warploom that import one of these modules, by their places in `warploom`."""
    modules = differing_modules()
    files = [path for room in ROOMS for path in sorted((ROOT / room).rglob("*.py"))]
    found = [path for path in files if not modules.isdisjoint(_IMPORT.findall(path.read_text("utf-8")))]
    return [str(Path("warploom", path.relative_to(ROOT))) for path in found]


def main() -> int:
    """Check for both systems, one after the other, and return 1 if there is a mistake."""
    is_whole = "--whole" in sys.argv
    part = [] if is_whole else ["--follow-imports=skip", *differing_files()]
    mistakes = 0
    for system in ("win32", "darwin"):
        command = [sys.executable, "-m", "mypy", f"--platform={system}", f"--cache-dir=.mypy_cache/{system}", *part]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
        found = [done.stdout] if is_whole and done.returncode else _MISTAKE.findall(done.stdout)
        mistakes += len(found)
        if done.returncode > 1:  # mypy itself has failed
            sys.exit(done.stdout + done.stderr)
        print(f"mypy for {system}: {'mistakes' if found else 'no mistakes'}\n{''.join(found)}", end="")
    return 1 if mistakes else 0


if __name__ == "__main__":
    sys.exit(main())
