"""Block files run in another process, which may hang or die."""

import os
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.catalogue.block_texts import HEAD, BlockFolder, block_text
from warploom import Patch
from warploom.engine.block_process import client
from warploom.engine.block_process.client import BlockProcess
from warploom.engine.blocktypes.block import block_types
from warploom.engine.blocktypes.describing import describe
from warploom.engine.catalogue.block_folders import block_folders
from warploom.engine.catalogue.catalogue import trust_blocks
from warploom.engine.user_code.limits import CALL, FILE

_ADAPTIVE = """
import os
from warploom.api import AdaptiveBlock, Interface, Out, f32, param
from warploom.engine.descriptions.ports import PortSpec

class Ports(AdaptiveBlock, id="apart.ports"):
    '''Has outputs.'''

    count: int = param(1, structural=True, doc="How many.")

    @classmethod
    def interface(cls, values):
        if values["count"] > 8:
            raise ValueError("too many")
        if values["count"] < 0:
            10**10**9
        return Interface(tuple(PortSpec(f"out{i}", "out", f32, "Numbers.", "[4]") for i in range(values["count"])))
"""
_COMPOSITE = """
from warploom.api import Composite

class Two(Composite, id="apart.two"):
    '''Holds a block.'''

    def compose(self, build):
        child = build.add_child("live.scale", "child")
        build.expose_input("x", child["x"])
        build.expose_output("out", child["out"])
        build.expose_parameter("gain", child)
"""


@pytest.fixture(scope="module")
def apart() -> Iterator[None]:
    """One process runs the block files of all tests, since a start takes a second."""
    with closing(BlockProcess()) as process, pytest.MonkeyPatch.context() as patched:
        patched.setattr(block_folders, "apart", process)
        yield


@pytest.fixture
def folder(tmp_path: Path, apart: None) -> Iterator[BlockFolder]:
    """A folder of blocks."""
    made = BlockFolder(tmp_path / "blocks")
    yield made
    block_folders.remove(made.path)
    block_folders.reload([]).result()


def save(folder: BlockFolder, name: str, text: str) -> None:
    """Save a file of a folder, and run it."""
    block_folders.reload([folder.write(name, text)]).result()


def test_files_run_elsewhere(folder: BlockFolder) -> None:
    """Types come as stand-ins from a process of their own, which answers for their code; removed folders leave none."""
    own = f"import os\nassert os.getpid() != {os.getpid()}\n"
    folder.write("scale.py", block_text(before=own))
    folder.write("two.py", _COMPOSITE)
    folder.write("ports.py", _ADAPTIVE)
    assert trust_blocks(folder.path) == []
    scale, two = block_types.get("live.scale"), block_types.get("apart.two")
    assert scale is not None and scale.apart is not None
    assert list(scale.ports) == ["x", "out"]
    assert two is not None and list(two.parameters) == ["gain"]
    (launch,) = describe(scale("node", {"gain": 2.0})).entries
    assert launch is not None

    save(folder, "scale.py", block_text(gain="4.0, min=0, max=8"))
    two = block_types.get("apart.two")
    assert two is not None and two.parameters["gain"].default == 4.0

    patch = Patch()
    node = patch.add("apart.ports", count=3)
    found = patch.block_type(node.id)
    assert found is not None and list(found.ports) == ["out0", "out1", "out2"]
    patch.set(node, count=9)
    problem = patch.catalogue.resolve("apart.ports", {"count": 9}, lambda: folder.path, trusted=True)[1]
    assert problem is not None and "interface of apart.ports raised ValueError: too many (ports.py:" in problem.message

    block_folders.remove(folder.path)
    block_folders.reload([]).result()
    assert block_types.get("live.scale") is None


def test_code_that_holds_its_process(folder: BlockFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file or an interface that holds the interpreter is stopped; other types answer, and a right file mends it."""
    monkeypatch.setattr(client, "FILE", FILE._replace(total_s=0.0))
    monkeypatch.setattr(client, "CALL", CALL._replace(total_s=0.0))
    monkeypatch.setattr(client, "_MORE_S", 3.0)
    folder.write("ports.py", _ADAPTIVE)
    folder.write("scale.py", block_text())
    assert trust_blocks(folder.path) == []
    save(folder, "scale.py", block_text(before="10**10**9"))
    assert [problem.message for problem in block_folders.problems(folder.path)] == [
        "block file scale.py must finish within 0 s, got code that holds its process"
    ]
    assert block_types.get("live.scale") is not None
    tried = block_folders.tried() or ()
    assert [each.path.name for each in tried if each.harm is not None] == ["scale.py"]

    monkeypatch.setattr(client, "_MAIN_S", None)
    resolve = Patch().catalogue.resolve
    problem = resolve("apart.ports", {"count": -1}, lambda: folder.path, trusted=True)[1]
    assert problem is not None and "interface of apart.ports must finish within" in problem.message
    block_type, problem = resolve("apart.ports", {"count": 2}, lambda: folder.path, trusted=True)
    assert problem is None and block_type is not None and len(block_type.ports) == 2
    save(folder, "scale.py", block_text(source="y"))
    assert block_folders.problems(folder.path) == []
    assert list(block_types.all()["live.scale"].ports) == ["y", "out"]


def test_a_file_that_ends_its_process(folder: BlockFolder) -> None:
    """The file has a problem that says how; another file's types still answer, and a saved file mends it."""
    folder.write("ports.py", _ADAPTIVE)
    folder.write("scale.py", block_text(before="import os; os._exit(3)"))
    (problem,) = trust_blocks(folder.path)
    assert problem.message == "block file scale.py must leave its process running, got exit status 3"
    assert block_types.get("live.scale") is None
    assert block_types.problem("live.scale") == problem
    save(folder, "scale.py", block_text(before="import sys; sys.modules.clear()"))
    (problem,) = block_folders.problems(folder.path)
    assert problem.message.startswith("block file scale.py must leave its process intact, got ")
    save(folder, "scale.py", block_text())
    assert block_folders.problems(folder.path) == []
    block_type, problem = Patch().catalogue.resolve("apart.ports", {"count": 2}, lambda: folder.path, trusted=True)
    assert block_type is not None and len(block_type.ports) == 2, problem


def test_errors_keep_their_lines(folder: BlockFolder) -> None:
    """Whatever a file raises is reported with its line, and its process goes on."""
    folder.write("a.py", "raise SystemExit")
    folder.write("b.py", "\nraise KeyboardInterrupt")
    folder.write("c.py", f"{HEAD}\nclass Wrong(Block, id='apart.wrong'):\n    pass\n")
    assert [(problem.message, problem.line) for problem in trust_blocks(folder.path)] == [
        ("block file a.py raised SystemExit (a.py:1)", 1),
        ("block file b.py raised KeyboardInterrupt (b.py:2)", 2),
        ("block apart.wrong must have a docstring that says what it does, got none (c.py:3)", 3),
    ]
    assert all(each.harm is None for each in block_folders.tried() or ())
