"""Patches with one block that makes the engine fail."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from warploom import Patch, forget_blocks, trust_blocks
from warploom.engine.patch.document import NodeRef

FOLDER = Path(__file__).parent / "faults"
#: The kernels of faults.cu, with the text of the line that fails.
LINES = {
    "far": "out[1000000000000ll] = 1;",
    "askew": "*reinterpret_cast<float*>",
    "endless": "for (out[0]",
    "asserting": "assert(",
    "trapping": "__trap();",
}


@contextmanager
def faulty_blocks() -> Iterator[None]:
    """Trust the block file of this folder, here and in child processes."""
    trust_blocks(FOLDER)
    try:
        yield
    finally:
        forget_blocks(FOLDER)


def lines_of(entry: str) -> list[int]:
    """Return the number of the line that fails in a kernel, and of the next one, where a loop's body may be."""
    lines = (FOLDER / "faults.cu").read_text().splitlines()
    number = next(number for number, line in enumerate(lines, 1) if line.strip().startswith(LINES[entry]))
    return [number, number + 1]


def chain(type_id: str, *, region: NodeRef | str = "", patch: Patch | None = None, **values: object) -> Patch:
    """Return a patch in which sound blocks are beside the block "bad", and before and behind it if it has ports."""
    patch = patch or Patch()
    before = patch.add("buffer.constant", node_id="before", shape="4", value=1.0)
    beside = patch.add("math.scale_offset", node_id="beside", scale=2.0)
    patch.connect(before["out"], beside["x"])
    bad = patch.add(type_id, node_id="bad", region=region, **values)
    if type_id == "test_faults.fault":
        patch.connect(before["out"], bad["x"])
    if type_id == "test_faults.die_later":
        patch.connect(bad["value"], beside["offset"])
    return patch
