"""Rules for comparing two devices: the host device runs the same PTX as a GPU, but other library calls."""

from collections import defaultdict
from collections.abc import Mapping

import numpy as np

from tests.random_patches.comparing import Contents, Outcome, differences, filled
from tests.random_patches.materials import Array
from warploom import Patch
from warploom.engine.patch.changes import PortRef
from warploom.engine.patch.regions import region_of
from warploom.engine.types import from_bf16

_VIEWS = ("buffer.reinterpret", "buffer.reshape", "buffer.slice", "buffer.transpose")
#: Block types that move data, count, compare, or round each result once: equal to the last bit on every device.
EXACT = frozenset(
    (
        *("buffer.assign", "buffer.constant", "buffer.convert", "buffer.copy", "buffer.fill", "buffer.frame_delay"),
        *("buffer.positions", "buffer.state", "control.every", "control.for", "control.if", "control.if_else"),
        *("data.load_array", "data.load_table", "data.play_rows", "geometry.load_mesh", "geometry.load_points"),
        "geometry.play_points",
        "image.text",
        *(
            "control.select",
            "control.switch",
            "control.while",
            "field.edges",
            "image.text",
            "filter.morphology",
            "io.array",
            "io.external",
        ),
        *("io.image_array", "io.load_audio", "io.load_image", "math.add", "math.compare", "math.multiply"),
        *("math.saxpy", "math.scale_offset", "random.integers", "reduce.count", "reduce.largest", "reduce.smallest"),
        *("signal.fft_shift", "tensor.batches", "tensor.digits", *_VIEWS),
        *("buffer.concatenate", "buffer.gather", "buffer.scatter", "buffer.stack", "math.clamp", "math.where"),
        *("data.compact", "data.histogram", "data.sort", "data.sort_by_key", "data.top_k", "data.unique"),
    )
)
#: Block types whose result may jump when a number before it is rounded differently, with the reason.
JUMPS: Mapping[str, str] = {
    **dict.fromkeys(("fractal.mandelbrot_step", "fractal.color_escape"), "a step more or less for points on the edge"),
    **dict.fromkeys(("image.plot", "particles.render_points", "geometry.render_cloud"), "which pixel a point falls on"),
    "geometry.cloth": "folds follow from all steps before",
    "geometry.ray_march": "which surface a ray meets",
    "geometry.render_lines": "which pixels a line covers",
    "geometry.trails": "whether a point has jumped",
    "signal.oscillator": "which side of a corner a sample is on",
    "signal.pitch": "which lag is the best",
    "signal.spectrogram": "which pixel a frequency falls on",
    **dict.fromkeys(
        ("particles.select", "particles.kill", "tensor.accuracy", "sound.onset", "sound.beat"),
        "which side of a limit a number is on",
    ),
    "particles.sph": "in which cell a particle is",
    **dict.fromkeys(("particles.emitter", "particles.forces", "particles.integrate"), "when one is born or bounces"),
    "field.cellular_automaton": "to which state a number is rounded",
    "image.ascii": "which character is nearest",
    "image.convert_color": "the hue of a grey",
    "image.phase_correlation": "which of two peaks is higher",
    "image.optical_flow": "whether a pixel comes from outside the picture",
    "tensor.train": "weights follow from all steps before",
    "kernel.expression": "whatever a person wrote",
    "kernel.graph": "whatever a person wrote",
    "kernel.chain": "FFTs and products one after another",
    **dict.fromkeys(("linalg.qr", "linalg.svd", "linalg.eigen"), "signs are not determined"),
    **dict.fromkeys(
        (
            *("linalg.lu", "linalg.inverse", "linalg.solve", "linalg.least_squares", "linalg.cholesky"),
            *("linalg.solve_factored", "linalg.solve_triangular"),
        ),
        "the matrix may be singular",
    ),
}
#: Block types of `EXACT` whose results are exact only if all numbers of their inputs are finite.
ONLY_FINITE = frozenset(("filter.morphology",))
#: The allowed difference of other results, relative to the largest element, by element type.
WITHIN: Mapping[str, float] = {"f16": 5e-3, "bf16": 4e-2}
_WITHIN = 1e-4


def across(one: Outcome, other: Outcome) -> list[str]:
    """Return the differences between two devices' runs of a patch, or the differences within either run."""
    if one.made is None or other.made is None or one.differences or other.differences:
        return [f"on {number}: {text}" for number, each in enumerate((one, other)) for text in each.differences]
    if one.made.nodes.keys() != other.made.nodes.keys() or one.made.connections != other.made.connections:
        return ["the patches differ"]
    return disagreements(one.made, one.last, other.last, one.types)


def disagreements(patch: Patch, one: Contents, other: Contents, types: Mapping[PortRef, str]) -> list[str]:
    """Return the differences between two devices' contents that exceed the allowed ones.

    A port must be equal if all blocks that it depends on are exact, and near if only its own block rounds. Otherwise
    only type and shape must agree. `types` are the ports' element types.
    """
    one, other = filled(patch, one), filled(patch, other)
    before, exact = _sources(patch), _exact(patch, one)
    found = [f"{port} is there only on one device" for port in sorted(one.keys() ^ other.keys(), key=str)]
    for port in sorted(one.keys() & other.keys(), key=str):
        a, b, kind = one[port], other[port], patch.nodes[port.node].type
        inexact = {patch.nodes[node].type for node in _closure(before, port.node) - exact}
        if not inexact or isinstance(a, str) or isinstance(b, str):
            found += differences({port: a}, {port: b})
        elif a.dtype != b.dtype or a.shape != b.shape:
            found.append(f"{port}: {a.dtype}{list(a.shape)} against {b.dtype}{list(b.shape)}")
        elif inexact == {kind} and kind not in JUMPS.keys() | ONLY_FINITE and not _near(a, b, types.get(port, "")):
            found.append(f"{port} ({kind}): {a.reshape(-1)[:4].tolist()} against {b.reshape(-1)[:4].tolist()}")
    return found


def _exact(patch: Patch, held: Contents) -> set[str]:
    """Return the nodes whose outputs are equal to the last bit if their inputs are."""
    found = {node.id for node in patch.nodes.values() if node.type in EXACT}
    for connection in patch.connections:
        if patch.nodes[node := connection.target.node].type in ONLY_FINITE:
            image = held.get(connection.source)
            if not isinstance(image, np.ndarray) or (image.dtype.kind == "f" and not np.isfinite(image).all()):
                found.discard(node)
    return found


def _near(a: Array, b: Array, dtype: str) -> bool:
    """Return whether two arrays are nearly equal where both are finite; a result may overflow on one device only."""
    if a.dtype == np.uint8 and dtype not in ("u8", "uchar4", "boolean"):
        return True  # an append buffer's rows, sorted by their bits: those that nearly agree may lie elsewhere
    if dtype == "bf16":
        a, b = from_bf16(a), from_bf16(b)
    if a.dtype.kind not in "fc":
        return bool((np.abs(a.astype(np.float64) - b.astype(np.float64)) <= 1).all()) if a.dtype.kind in "iu" else True
    finite = np.isfinite(a) & np.isfinite(b)
    size = np.abs(a[finite].astype(np.complex128)).max(initial=0)
    within = WITHIN.get(dtype, _WITHIN) * size
    return bool((np.abs(a[finite].astype(np.complex128) - b[finite].astype(np.complex128)) <= within).all())


def _sources(patch: Patch) -> Mapping[str, set[str]]:
    """Return the nodes on which each node depends: those that feed it, change its buffer in place, or contain it."""
    before: dict[str, set[str]] = defaultdict(set)
    for connection in patch.connections:
        source, target = connection.source, connection.target
        source_type = patch.block_type(source.node)
        if patch.is_value_connection(connection) and not (source_type is not None and source_type.is_live):
            continue
        before[target.node].add(source.node)
        block_type = patch.block_type(target.node)
        changed = {spec.inplace for spec in block_type.outputs()} if block_type is not None else set()
        if target.port in changed or patch.nodes[target.node].type in _VIEWS:
            before[source.node].add(target.node)
    for node in patch.nodes.values():
        if node.region:
            before[node.id].add(region_of(node.region))
    return before


def _closure(before: Mapping[str, set[str]], node: str) -> set[str]:
    """Return a node and all nodes on which it depends."""
    found, waiting = {node}, [node]
    while waiting:
        more = before.get(waiting.pop(), set()) - found
        found |= more
        waiting += more
    return found
