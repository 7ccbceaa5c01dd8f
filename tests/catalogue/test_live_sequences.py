"""After any saves and edits, a running engine computes what a new one computes from the same patch and files."""

import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.catalogue.block_texts import BlockFolder, block_text
from tests.fuzzing import many
from warploom import Engine, Patch, trust_blocks
from warploom.engine.catalogue.block_folders import block_folders
from warploom.engine.diagnostics import PatchError, Severity
from warploom.engine.patch.changes import PortRef

#: Versions of one block: with other work, other parameters or ports, and some that fail.
TEXTS = {
    "plain": block_text(),
    "default": block_text(gain="3.0, max=9"),
    "narrow": block_text(gain="0.5, max=1"),
    "constant": block_text(factor="4.0"),
    "more": block_text(extra='more: float = param(2.0, doc="More.")', factor="self.more"),
    "input": block_text(extra='y: In[f32] = port(optional=True, doc="More.")'),
    "sized": block_text(extra='more: int = param(2, structural=True, doc="More.")', factor="float(self.more)"),
    "renamed": block_text(out="result"),
    "gone": block_text("live.other"),
    "syntax": "def (",
    "raises": block_text() + "1 / 0\n",
    "describe": block_text(describe="raise ValueError"),
}


def set_gain(value: float) -> Callable[[Patch], object]:
    return lambda patch: patch.set("scale", gain=value)


EDITS: dict[str, Callable[[Patch], object]] = {
    "gain 1": set_gain(1.0),
    "gain 7": set_gain(7.0),
    "more": lambda patch: patch.set("scale", more=5),
    "reset": lambda patch: patch.reset("scale", "gain"),
    "connect y": lambda patch: patch.connect(PortRef("array", "out"), PortRef("scale", "y")),
    "disconnect y": lambda patch: patch.disconnect(PortRef("scale", "y")),
    "cut": lambda patch: patch.disconnect(PortRef("scale_offset", "x")),
    "lead back": lambda patch: patch.connect(PortRef("scale", "out"), PortRef("scale_offset", "x")),
    "lead on": lambda patch: patch.connect(PortRef("scale", "result"), PortRef("scale_offset", "x")),
    "undo": lambda patch: patch.undo(),
    "redo": lambda patch: patch.redo(),
}


def make_patch() -> Patch:
    """Return a patch of an array, the live block, and a block behind it, with an empty undo history."""
    patch = Patch()
    x = patch.add("io.array", data=np.array([1.0, 2.0, 3.0], np.float32))
    scale, after = patch.add("live.scale", gain=2.0), patch.add("math.scale_offset", scale=10.0)
    patch.connect(x["out"], scale["x"])
    patch.connect(scale["out"], after["x"])
    return patch.excerpt(patch.nodes)


@settings(max_examples=many(8))
@given(st.lists(st.sampled_from([*TEXTS, *EDITS]), min_size=2, max_size=14))
def test_saves_and_edits_give_what_a_fresh_engine_gives(steps: list[str]) -> None:
    """After random saves and edits, the running engine's results and errors are those of a new engine."""
    with tempfile.TemporaryDirectory() as place:
        folder = BlockFolder(Path(place).resolve() / "blocks")
        folder.write("scale.py", TEXTS["plain"])
        trust_blocks(folder.path)
        patch = make_patch()
        try:
            with Engine(patch, device="host") as engine:
                assert not any(item.severity is Severity.ERROR for item in engine.step().diagnostics)
                compare(engine, patch)
                for step in steps:
                    if step in TEXTS:
                        block_folders.reload([folder.write("scale.py", TEXTS[step])]).result()
                    else:
                        try:
                            EDITS[step](patch)
                        except PatchError:
                            continue
                    compare(engine, patch)
        finally:
            block_folders.remove(folder.path)
            block_folders.reload([]).result()


def compare(engine: Engine, patch: Patch) -> None:
    """Compare a running engine's results and errors with those of a new one."""
    report = engine.step()
    with Engine(patch, device="host") as fresh:
        expected = fresh.step()
        failed, fails = (any(i.severity is Severity.ERROR for i in r.diagnostics) for r in (report, expected))
        assert failed == fails
        if fails:
            return
        assert set(report.diagnostics) == set(expected.diagnostics)
        for node in ("scale", "scale_offset"):
            block_type = patch.block_type(node)
            assert block_type is not None
            for spec in block_type.outputs():
                port = PortRef(node, spec.name)
                assert engine.read(port).tolist() == fresh.read(port).tolist(), str(port)
