"""Equal blocks are described once, unless their code is a user's."""

from collections.abc import Iterator
from contextlib import closing

import numpy as np
import pytest

from warploom import Patch
from warploom.api import Block, BlockBuilder, In, f32, port
from warploom.engine.blocktypes.block_types import is_ours
from warploom.engine.blocktypes.describing import describe
from warploom.engine.blocktypes.parameters import ParameterSpec
from warploom.engine.catalogue.catalogue import default_catalogue
from warploom.engine.descriptions.description import BlockDescription
from warploom.engine.runtime.model.block_registry import BlockRegistry
from warploom.engine.runtime.model.describe_patch import describe_patch
from warploom.engine.runtime.model.parameters import ParameterStore
from warploom.engine.user_code.runner import CodeRunner

LIBRARY = [kind for kind in default_catalogue().all() if is_ours(kind) and not kind.is_value]


class Named(Block, id="test_run.named"):
    """A user's block, which saves its input under its node's id."""

    x: In[f32] = port(doc="Any.")

    def describe(self, build: BlockBuilder) -> None:
        build.save(self.x, f"{self.node}.npy")


@pytest.fixture
def code() -> Iterator[CodeRunner]:
    with closing(CodeRunner()) as code:
        yield code


def asked(patch: Patch, code: CodeRunner) -> dict[str, BlockDescription]:
    """Return the description of each node of a patch."""
    registry = BlockRegistry(patch.catalogue, ParameterStore(lambda: patch.folder), lambda: patch.folder, code)
    for node in patch.nodes.values():
        registry.register(node)
    nodes = describe_patch(registry.snapshot(patch.connections), code).nodes
    return {node.id: node.block.description for node in nodes if node.block is not None}


def other(spec: ParameterSpec) -> object:
    """Return another value that a parameter takes."""
    if spec.choices:
        return spec.choices[-1]
    if spec.type == "bool":
        return not spec.default
    low = spec.minimum if spec.minimum is not None else spec.default - 1
    return spec.coerce(low if low != spec.default else spec.default + 1)


@pytest.mark.parametrize("kind", LIBRARY, ids=lambda kind: kind.id)
def test_what_a_library_block_asks_for_follows_from_its_structural_values(kind: type[Block]) -> None:
    """A library block's description is the same for another node and other live values."""
    live = {spec.name: other(spec) for spec in kind.parameters.values() if not spec.structural}
    said = []
    for block in (kind("one"), kind("two", live)):
        try:
            made = describe(block)
        except Exception as problem:  # noqa: BLE001 - for example, a file has not been chosen yet
            said.append((type(problem), str(problem)))
        else:
            said.append((made, made.displays, made.kernel_folders, *map(np.ndarray.tobytes, made.contents.values())))
    assert said[0] == said[1]


def test_library_blocks_with_the_same_structural_values_share_a_description(code: CodeRunner) -> None:
    """Other structural values have descriptions of their own, and so do arrays, which are not compared."""
    patch = Patch()
    for number in range(3):
        patch.add("math.saxpy", node_id=f"saxpy{number}", a=float(number))
        patch.add("io.array", node_id=f"array{number}", data=np.ones(4, np.float32))
        patch.add("buffer.fill", node_id=f"fill{number}", count=[4, 4, 5][number])
    found = asked(patch, code)
    assert found["saxpy0"] is found["saxpy1"] is found["saxpy2"]
    assert found["array0"] is not found["array1"]
    assert found["fill0"] is found["fill1"]
    assert found["fill0"] != found["fill2"]


def test_a_block_that_is_added_has_the_description_of_an_equal_one(code: CodeRunner) -> None:
    """A block with another structural value is described anew, and so is one whose files have changed since."""
    patch = Patch()
    registry = BlockRegistry(patch.catalogue, ParameterStore(lambda: patch.folder), lambda: patch.folder, code)

    def added(type_id: str, **values: object) -> BlockDescription:
        """Add a block, and return its description."""
        node = patch.add(type_id, **values)
        registry.register(patch.nodes[node.id])
        nodes = describe_patch(registry.snapshot(()), code).nodes
        registry.adopt(nodes)
        (found,) = (each.block.description for each in nodes if each.id == node.id and each.block is not None)
        return found

    first = added("math.saxpy", a=1.0)
    assert added("math.saxpy", a=2.0) is first
    assert added("buffer.fill", count=4) is not added("buffer.fill", count=5)
    assert added("buffer.fill", count=4) is added("buffer.fill", count=4)


def test_each_block_of_a_users_type_is_asked(code: CodeRunner) -> None:
    """Each block of a user's type is described by itself, since its code may depend on the node's id."""
    patch = Patch()
    for name in ("a", "b"):
        patch.add("test_run.named", node_id=name)
    paths = {node: [display.path for display in found.displays] for node, found in asked(patch, code).items()}
    assert paths == {"a": ["a.npy"], "b": ["b.npy"]}


def test_zeros_of_both_signs_are_told_apart(code: CodeRunner) -> None:
    """Blocks with 0.0 and with -0.0 have descriptions of their own."""
    patch = Patch()
    patch.add("buffer.frame_delay", node_id="plus", initial=0.0)
    patch.add("buffer.frame_delay", node_id="minus", initial=-0.0)
    found = asked(patch, code)
    assert found["plus"] is not found["minus"]
