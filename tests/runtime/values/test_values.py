"""After any edits, every output has the bits that a plain interpreter of the patch computes.

The numbers are of every kind that f32 has: both zeros, denormals, infinities, and NaNs with a payload. A NaN that is
only moved keeps its bits; PTX does not define which NaN arithmetic gives, so any NaN is right there.
"""

from contextlib import closing
from functools import partial

import numpy as np
import pytest

from tests.compiler.support.interpreter import Interpreter
from tests.fuzzing import FACTOR, seeds
from tests.runtime.update.update_support import errors
from tests.runtime.values.library_kernels import KERNELS, agrees, in_order
from tests.runtime.values.random_edits import Editor
from warploom import Engine, Patch
from warploom.engine.compiler.description import GraphDescription
from warploom.engine.compiler.planning import make_plan
from warploom.engine.device.device import Device
from warploom.engine.diagnostics import GraphValidationError
from warploom.engine.patch.changes import PortRef
from warploom.engine.runtime.model.block_registry import BlockRegistry
from warploom.engine.runtime.model.describe_patch import describe_patch
from warploom.engine.runtime.model.parameters import ParameterStore
from warploom.engine.user_code.runner import CodeRunner

#: The number of blocks at the start, and how often a patch is edited and run.
BLOCKS, ROUNDS = 24, 12


def describe(patch: Patch) -> GraphDescription | None:
    """Return the description of a patch; None if a part of it can't run."""
    with closing(CodeRunner()) as code:
        registry = BlockRegistry(patch.catalogue, ParameterStore(lambda: patch.folder), lambda: patch.folder, code)
        for node in patch.nodes.values():
            registry.register(node)
        described = describe_patch(registry.snapshot(patch.connections), code)
    try:
        make_plan(described.inlined.description)
    except GraphValidationError:
        return None
    nodes = tuple(node.block for node in described.nodes if node.block)
    return GraphDescription(nodes, tuple(patch.connections)) if len(nodes) == len(patch.nodes) else None


def interpret(editor: Editor, earlier: Interpreter | None = None) -> Interpreter:
    """Undo edits until the patch can run; return its interpreter, with the state of an earlier one."""
    patch = editor.patch
    while (description := describe(patch)) is None:
        assert patch.undo()
    types = {node: patch.block_type(node) for node in patch.nodes}
    values = {n: {name: patch.value(n, name) for name in block.parameters} for n, block in types.items() if block}
    made = Interpreter(description, values, KERNELS, earlier)
    editor.see(made.array)
    return made


def defined(patch: Patch) -> set[PortRef]:
    """Return the outputs that are defined in each frame: by a default if no region around them runs.

    An output that only blocks of the same outermost region read is undefined while that region is skipped.
    """
    outermost = {node: [*patch.scopes.chain(placed.region), ""][0] for node, placed in patch.nodes.items()}
    ports = set()
    for node in patch.nodes:
        block = patch.block_type(node)
        assert block is not None
        for port in (PortRef(node, spec.name) for spec in block.outputs()):
            readers = {outermost[c.target.node] for c in patch.connections if c.source == port}
            if not outermost[node] or not readers or readers - {outermost[node]}:
                ports.add(port)
    return ports


def shared(expected: Interpreter, port: PortRef, other: PortRef) -> bool:
    """Return whether two ports are the same memory."""
    return np.shares_memory(expected.array(port), expected.array(other))


def check(engine: Engine, editor: Editor, expected: Interpreter) -> None:
    """Check the contents of every readable output; the elements of an append buffer may have any order."""
    nodes = editor.patch.nodes
    provided = [PortRef(node.id, "out") for node in nodes.values() if node.type == "io.array" and node.region]
    for port in sorted(defined(editor.patch), key=str):
        # Blocks outside a region change a copy of contents that are provided inside, so views inside show the original.
        if port not in provided and nodes[port.node].region and any(map(partial(shared, expected, port), provided)):
            continue
        found, wanted = engine.read(port), expected.array(port)
        if nodes[port.node].type == "test_values.keep" and port.port == "out":
            count = int(expected.array(PortRef(port.node, "out_count"))[0])
            found, wanted = in_order(found[:count]), in_order(wanted[:count])
        assert agrees(found, wanted), f"{port}: {found.ravel()[:8]} against {wanted.ravel()[:8]}"


@pytest.mark.parametrize("seed", seeds(2 if FACTOR == 1 else 40))
def test_edits_give_what_the_interpreter_gives(device: Device, seed: int) -> None:
    """After one or several edits with frames in between, outputs and state are those of the interpreter."""
    editor = Editor(seed)
    story: list[str] = []
    for _ in range(BLOCKS):
        interpret(editor)
        editor.grow()
    with Engine(editor.patch, device=device) as engine:
        expected = None
        try:
            for _ in range(ROUNDS):
                for _ in range(editor.chance.choice((1, 1, 2, 5))):
                    story.append(editor.edit())
                    interpret(editor)
                expected = interpret(editor, expected)
                for _ in range(editor.chance.choice((1, 1, 2))):
                    story.append("frame")
                    report = engine.step()
                    assert not errors(report), errors(report)
                    with np.errstate(all="ignore"):
                        expected.frame()
                    check(engine, editor, expected)
        except BaseException as problem:
            problem.add_note(f"the story: {', '.join(story)}")
            raise
