"""Modules have one name, `warploom.*`; their old names are the same modules."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]

_PROGRAM = """
import importlib, pkgutil, sys
import {first}
{old} = importlib.import_module("{old}")
new = importlib.import_module("warploom.{old}")
assert {old} is new, "the package"
assert new.__spec__.name == "warploom.{old}", "its specification"
names = [module.name for module in pkgutil.walk_packages(new.__path__, "{old}.")]
needs_libraries = ("__main__", ".cuda", ".python.")
for name in [name for name in names if not any(part in name for part in needs_libraries)][::7]:
    module = importlib.import_module(name)
    assert module is importlib.import_module("warploom." + name) is sys.modules[name], name
    assert (module.__name__, module.__spec__.name) == ("warploom." + name,) * 2, name
try:
    importlib.import_module("{old}.nothing")
except ModuleNotFoundError as problem:
    print(problem)
"""


def run(program: str) -> str:
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return done.stdout.strip()


def test_old_names_are_the_same_modules() -> None:
    """A module is loaded once by whichever name, before the new one or after it, and keeps its new name."""
    for old, first in (("engine", "engine"), ("engine", "warploom"), ("blocks", "engine")):
        assert run(_PROGRAM.format(old=old, first=first)) == f"No module named '{old}.nothing'"


def test_the_face_of_the_engine_is_that_of_warploom() -> None:
    """`from engine import Engine` gives what `from warploom import Engine` does; the modules with faces moved."""
    program = """
from engine import Engine, Patch, open_device, load_patch
from engine.api import Block
from engine.tensor import Tensor
import engine.api, warploom
print(Engine is warploom.Engine, Patch is warploom.Patch, open_device is warploom.open_device)
print(Block is warploom.api.Block, Tensor is warploom.tensors.Tensor, engine.api is warploom.api)
"""
    assert run(program).split() == ["True"] * 6
