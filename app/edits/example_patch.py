"""A small patch around a block type: something fits each input that must be connected, and its outputs are shown."""

from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

from msgspec.structs import replace

from warploom.app.edits.compatible import best_end
from warploom.app.edits.organise.frames import top_of
from warploom.engine.blocktypes.block import Block
from warploom.engine.catalogue.catalogue import Catalogue
from warploom.engine.descriptions.ports import PortSpec
from warploom.engine.diagnostics import Diagnostic, PatchError
from warploom.engine.kernel_sources.image import KERNELS_FOLDER
from warploom.engine.ops.graph import OTHERWISE
from warploom.engine.patch.changes import PortRef
from warploom.engine.patch.document import Patch
from warploom.engine.patch.organise.annotations import Frame
from warploom.engine.patch.regions import scope_text
from warploom.engine.patch.rules import is_drivable

#: Blocks that may feed an input, with their parameters: images first, then matrices, vectors and others.
_FEEDS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("image.noise", {}),
    ("random.uniform", {"shape": "64, 64"}),
    ("random.uniform", {"shape": "256"}),
    ("random.uniform", {"shape": "1, 3, 3"}),
    ("random.uniform", {"shape": "4, 3, 16, 16"}),
    ("random.uniform", {"shape": "3"}),
    ("random.uniform", {"shape": "5, 5"}),
    ("random.integers", {"shape": "256"}),
    ("buffer.constant", {"dtype": "u32", "value": 1.0}),
    ("signal.real_fft", {}),
    ("particles.emitter", {}),
    ("geometry.surface", {}),
    ("field.lattice_boltzmann", {}),
    ("signal.oscillator", {}),
)
#: Chains of blocks that may show an output.
_SHOWS: tuple[tuple[str, ...], ...] = (
    ("io.viewer",),
    ("image.color_ramp", "io.viewer"),
    ("image.plot", "io.viewer"),
    ("buffer.convert", "image.plot", "io.viewer"),
)
#: Inputs that take whole numbers, and the blocks that have these.
_COUNTED, _WHOLE = ("indices", "keys"), ("random.integers", "buffer.constant")
#: The most combinations of feeds that are tried, since each is checked like a patch.
_MOST = 120
_ACROSS, _DOWN = 220.0, 140.0
#: Values of blocks that have no ports without them.
_VALUES: dict[str, dict[str, Any]] = {"kernel.file": {"file": str(KERNELS_FOLDER / "saxpy.cu")}}
#: Blocks that need the results of another one, whose outputs have the names of their inputs.
_AFTER = {"linalg.solve_factored": "linalg.lu"}
#: What a person does before a block runs; lines of Python are indented.
_LINES = {
    "io.external": """Its array comes from Python, in the process of the engine. Start the editor by
"warploom edit --in-process", open this example, and type into the Python console:

    picture = np.random.rand(256, 256).astype(np.float32)
    patch.set("external", array=picture)

From then on, the next frame shows what is written to the array:

    picture[64:192, 64:192] = 0.5

A script does the same with warploom.Engine and warploom.Patch."""
}
#: What a block that outputs numbers drives.
_DRIVEN = "image.noise"

#: Returns what keeps a patch from running.
Check = Callable[[Patch], list[Diagnostic]]


def example_patch(block_type: type[Block], catalogue: Catalogue, check: Check) -> tuple[Patch, str]:
    """Return a patch that runs, with the id of the block; if none is found, a patch with the block alone."""
    if block_type.is_value:
        return _driving(block_type, catalogue)
    if len(block_type.regions) > 1:
        return _branching(block_type, catalogue)
    if block_type.id in _LINES:
        return _by_hand(block_type, catalogue)
    if block_type.id in _AFTER:
        return _after(block_type, catalogue, check)
    alone = Patch(catalogue)
    node = alone.add(block_type.id, position=(_ACROSS, 0), **_VALUES.get(block_type.id, {})).id
    block_type = alone.block_type(node) or block_type  # with the ports of its values
    needed = [spec for spec in block_type.inputs() if not spec.optional]
    options = [list(_fitting(spec, catalogue)) for spec in needed]
    for count, chosen in enumerate(_combinations(options)):
        if count == _MOST:
            break
        patch, node = _fed(block_type, catalogue, needed, chosen)
        if patch is not None and not check(patch):
            _show_outputs(patch, node, block_type, check)
            return patch, node
    return alone, node


def _fitting(spec: PortSpec, catalogue: Catalogue) -> Iterator[int]:
    for at, (name, _) in enumerate(_FEEDS):
        feed = catalogue.get(name)
        is_whole = name in _WHOLE or spec.name not in _COUNTED
        if is_whole and feed is not None and best_end(feed, spec) is not None:
            yield at


def _combinations(options: list[list[int]]) -> Iterator[tuple[int, ...]]:
    """Return feeds for all inputs: first the same for all of them, then another one for the first input."""
    alike = [at for at in range(len(_FEEDS)) if all(at in some for some in options)]
    yield from ((at,) * len(options) for at in alike)
    if len(options) > 1:
        others = [at for at in range(len(_FEEDS)) if all(at in some for some in options[1:])]
        yield from ((at, *(other,) * (len(options) - 1)) for at, other in product(options[0], others) if at != other)


def _fed(
    block_type: type[Block], catalogue: Catalogue, needed: list[PortSpec], chosen: tuple[int, ...]
) -> tuple[Patch | None, str]:
    patch = Patch(catalogue)
    try:
        node = patch.add(block_type.id, position=(2 * _ACROSS, 0), **_VALUES.get(block_type.id, {})).id
        for row, (spec, at) in enumerate(zip(needed, chosen, strict=True)):
            _feed(patch, PortRef(node, spec.name), spec, at, (_ACROSS, row * _DOWN))
    except PatchError:
        return None, ""
    return patch, node


def _feed(patch: Patch, port: PortRef, spec: PortSpec, at: int, place: tuple[float, float]) -> None:
    name, values = _FEEDS[at]
    feed = patch.catalogue.require(name)
    end = best_end(feed, spec)
    assert end is not None, "only feeds that fit are chosen"
    source = patch.add(name, position=place, **values).id
    for inner in (inner for inner in feed.inputs() if not inner.optional):
        _feed(patch, PortRef(source, inner.name), inner, 1, (place[0] - _ACROSS, place[1]))
    patch.connect(PortRef(source, end.name), port)


def _show_outputs(patch: Patch, node: str, block_type: type[Block], check: Check) -> None:
    """Show each output in the first way that runs."""
    row = 0
    for spec in block_type.outputs():
        for chain in _SHOWS:
            added: list[str] = []
            try:
                source = PortRef(node, spec.name)
                for step, name in enumerate(chain):
                    target = patch.catalogue.require(name)
                    added.append(patch.add(name, position=((3 + step) * _ACROSS, row * _DOWN)).id)
                    patch.connect(source, PortRef(added[-1], target.inputs()[0].name))
                    if target.outputs():
                        source = PortRef(added[-1], target.outputs()[0].name)
                if not check(patch):
                    row += 1
                    break
            except PatchError:
                pass
            for name in added:
                patch.remove(name)


def _after(block_type: type[Block], catalogue: Catalogue, check: Check) -> tuple[Patch, str]:
    """Return a patch in which another block feeds the inputs that have the names of its outputs."""
    patch, other = Patch(catalogue), catalogue.require(_AFTER[block_type.id])
    before = patch.add(other.id, position=(_ACROSS, 0)).id
    node = patch.add(block_type.id, position=(2 * _ACROSS, 0)).id
    made = {spec.name for spec in other.outputs()}
    loose = [PortRef(before, spec.name) for spec in other.inputs()]
    for spec in block_type.inputs():
        port = PortRef(node, spec.name)
        if spec.name in made:
            patch.connect(PortRef(before, spec.name), port)
        else:
            loose.append(port)
    for row, port in enumerate(loose):
        numbers = patch.add("random.uniform", position=(0, row * _DOWN), shape="64, 64")
        patch.connect(numbers["out"], port)
    _show_outputs(patch, node, block_type, check)
    return patch, node


def _by_hand(block_type: type[Block], catalogue: Catalogue) -> tuple[Patch, str]:
    """Return a patch in which a frame says what makes the block run."""
    patch, text = Patch(catalogue), _LINES[block_type.id]
    ramp_type = catalogue.require("image.color_ramp")
    node = patch.add(block_type.id, position=(0, 0))
    ramp = patch.add("image.color_ramp", position=(_ACROSS, 0))
    viewer = patch.add("io.viewer", position=(2 * _ACROSS, 0))
    patch.connect(node[block_type.outputs()[0].name], ramp[ramp_type.inputs()[0].name])
    patch.connect(ramp[ramp_type.outputs()[0].name], viewer["image"])
    frame = Frame(id="frame_1", title=f"How {block_type.title} gets its array", comment=text)
    top = top_of(frame)
    patch.annotate(replace(frame, position=(-48.0, -top), size=(3 * _ACROSS, top + _DOWN)))
    return patch, node.id


def _driving(block_type: type[Block], catalogue: Catalogue) -> tuple[Patch, str]:
    """Return a patch in which a value block drives a parameter of a picture."""
    patch = Patch(catalogue)
    node = patch.add(block_type.id, position=(_ACROSS, 0)).id
    picture = patch.add(_DRIVEN, position=(2 * _ACROSS, 0)).id
    viewer = patch.add("io.viewer", position=(3 * _ACROSS, 0)).id
    patch.connect(PortRef(picture, catalogue.require(_DRIVEN).outputs()[0].name), PortRef(viewer, "image"))
    for name, spec in catalogue.require(_DRIVEN).parameters.items():
        end = best_end(block_type, spec) if is_drivable(spec) and not spec.structural else None
        if end is not None:
            patch.connect(PortRef(node, end.name), PortRef(picture, name))
            break
    return patch, node


def _branching(block_type: type[Block], catalogue: Catalogue) -> tuple[Patch, str]:
    """Return a patch in which one of the first two branches makes the picture of a frame."""
    patch, size = Patch(catalogue), dict[str, Any](width=640, height=360)
    decides = patch.add("control.every", position=(0, 0), period=30)
    node = patch.add(block_type.id, position=(_ACROSS, 0)).id
    picture = patch.add("image.noise", position=(_ACROSS, _DOWN), region=node, **size)
    second = scope_text(node, block_type.regions[1])
    other = patch.add("image.gradient", position=(_ACROSS, 3 * _DOWN), region=second, **size)
    joined = patch.add("control.select", position=(3 * _ACROSS, 0))
    viewer = patch.add("io.viewer", position=(4 * _ACROSS, 0))
    if OTHERWISE not in block_type.regions:  # a Switch runs its first branch for 0
        picture, other = other, picture
    patch.connect(decides["due"], PortRef(node, block_type.inputs()[0].name))
    patch.connect(decides["due"], joined["condition"])
    patch.connect(picture["out"], joined["a"])
    patch.connect(other["out"], joined["b"])
    patch.connect(joined["out"], viewer["image"])
    return patch, node
