"""Elements in memory: every type, vectors, indices beyond the edge, images and volumes."""

import numpy as np
import pytest

from tests.ops.reference import Reference, assert_same
from tests.ops.running import run
from warploom.engine.device.device import Device
from warploom.engine.ops import OpGraphBuilder
from warploom.engine.ops.types import ELEMENTS
from warploom.engine.types import NAMED

_BOUNDARIES = ("clamp", "wrap", "mirror", "zero")


def test_elements_of_every_type_come_back_as_they_were(device: Device) -> None:
    """Elements of every type are loaded and stored unchanged, and adding 1 to an integer wraps."""
    size = 33
    random = np.random.default_rng(3)
    g = OpGraphBuilder()
    inputs = {}
    for name in ELEMENTS:
        dtype = NAMED[name]
        raw = random.integers(0, 256, (size, dtype.size_bytes), dtype=np.uint8)
        scalar = (dtype.of or dtype).numpy
        array = raw % 2 == 1 if scalar == np.bool_ else raw.view(scalar)
        inputs[name] = array if dtype.components > 1 else array[:, 0]
        value = g.add("op.input", name, type=name)["value"]
        g.add("op.output", f"same_{name}", value=value, type=name)
        if scalar.kind in "iu" and "bf" not in name:
            more = g.add("op.add", f"add_{name}", a=value, b=1.0)["out"]
            g.add("op.output", f"more_{name}", value=more, type=name)
    found = run(device, g.graph(), inputs, size)
    for name, array in inputs.items():
        if "bf" in name:  # numpy reads bf16 as uint16, and NaNs lose their payload
            is_nan = (array & 0x7FFF) > 0x7F80
            assert_same(np.where(is_nan, 0, found[f"same_{name}"]), np.where(is_nan, 0, array), name)
            assert ((found[f"same_{name}"][is_nan] & 0x7FFF) > 0x7F80).all()
        else:
            assert_same(found[f"same_{name}"], array, name)
        if f"more_{name}" in found:
            assert_same(found[f"more_{name}"], array + array.dtype.type(1), f"{name} and 1")


@pytest.mark.parametrize("size", [1, 7, 1023])
def test_loads_beyond_the_edge_follow_the_boundary(device: Device, size: int) -> None:
    """At any distance, results equal numpy's pad modes edge, wrap, symmetric and constant."""
    g = OpGraphBuilder()
    x = g.add("op.input", "x", type="u16")
    offset = g.add("op.input", "offset", type="s32")
    for boundary in _BOUNDARIES:
        index = g.add("op.add", f"at_{boundary}", a=g.add("op.index")["index"], b=offset["value"])
        load = g.add("op.load", boundary, buffer=x["buffer"], index=index["out"], boundary=boundary)
        g.add("op.output", f"out_{boundary}", value=load["out"])
    graph = g.graph()
    samples = np.array([0, -1, 1, size, -size, 3 * size + 1, -5 * size - 2, 2**31 - 1 - size, -(2**31)], np.int64)
    inputs = {
        "x": np.arange(1, size + 1, dtype=np.uint16),
        "offset": np.resize(samples, size).astype(np.int32),
    }
    expected = Reference(graph, inputs, (size,)).outputs()
    for name, found in run(device, graph, inputs, size).items():
        assert_same(found, expected[name], name)


def test_images_and_volumes_are_counted_along_their_axes(device: Device) -> None:
    """Positions, extents and loads in 2-D and 3-D with each boundary match the evaluator."""
    for rank, shape in ((2, (13, 37)), (3, (3, 5, 17))):
        g = OpGraphBuilder()
        place = g.add("op.position" if rank == 2 else "op.position3", "place")
        for port in ("xyuv" if rank == 2 else "xyzuvw", ("index", "count", "width", "height", "depth")[: 2 + rank]):
            for name in port:
                g.add("op.output", f"out_{name}", value=place[name])
        inputs = {}
        if rank == 2:
            image = g.add("op.input", "image", type="uchar4")
            far = g.add("op.multiply", a=place["x"], b=-3.0)
            for boundary in _BOUNDARIES:
                ports = {"x": far["out"], "y": place["width"], "boundary": boundary}
                load = g.add("op.load_2d", boundary, buffer=image["buffer"], **ports)
                g.add("op.output", f"loaded_{boundary}", value=load["out"], type="uchar4")
            inputs["image"] = np.random.default_rng(1).integers(0, 256, (5, 7, 4), dtype=np.uint8)
        expected = Reference(g.graph(), inputs, shape).outputs()
        for name, found in run(device, g.graph(), inputs, shape).items():
            assert_same(found, expected[name], name)


def test_vectors_are_made_split_swizzled_and_measured(device: Device) -> None:
    """Components equal numpy's, and a zero vector stays zero when it is normalised."""
    size = 1027
    g = OpGraphBuilder()
    a, b = (g.add("op.input", name, type="float3")["value"] for name in "ab")
    d = g.add("op.input", "d", type="double2")["value"]
    i = g.add("op.input", "i", type="uchar4")["value"]
    for name in ("dot", "cross", "distance", "length", "normalize", "reflect"):
        names = {"length": "x", "normalize": "x"}.get(name, "ab" if name != "reflect" else "")
        ports = dict(zip(names or ("x", "normal"), (a, b), strict=False))
        g.add("op.output", f"out_{name}", value=g.add(f"op.{name}", name, **ports)["out"])
    g.add("op.output", "out_double", value=g.add("op.length", x=d)["out"])
    g.add("op.output", "out_whole", value=g.add("op.length", x=i)["out"])
    scaled = g.add("op.multiply", a=a, b=g.add("op.split", "parts", vector=b)["y"])
    g.add("op.output", "out_scaled", value=scaled["out"])
    g.add("op.output", "out_turned", value=g.add("op.swizzle", x=i, pattern="bgra")["out"], type="uchar4")
    g.add("op.output", "out_wide", value=g.add("op.swizzle", x=a, pattern="zzxy")["out"])
    g.add("op.output", "out_made", value=g.add("op.vector4", x=g.add("op.index")["index"], y=0.5)["out"])
    near = g.add("op.less", a=a, b=b)["out"]
    g.add("op.output", "out_chosen", value=g.add("op.select", condition=near, a=a, b=0.0)["out"])
    g.add("op.output", "out_any", value=g.add("op.any", x=near)["out"])
    g.add("op.output", "out_all", value=g.add("op.all", x=near)["out"])
    random = np.random.default_rng(5)
    inputs = {
        "a": random.normal(size=(size, 3)).astype(np.float32),
        "b": random.normal(size=(size, 3)).astype(np.float32),
        "d": random.normal(size=(size, 2)),
        "i": random.integers(0, 256, (size, 4), dtype=np.uint8),
    }
    inputs["a"][0] = 0
    expected = Reference(g.graph(), inputs, (size,)).outputs()
    for name, found in run(device, g.graph(), inputs, size).items():
        assert_same(found, expected[name], name)


def test_stores_scatter_and_leave_the_rest(device: Device) -> None:
    """A store beyond the edge is skipped or wraps round, and elements without a store stay as they were."""
    size = 100
    g = OpGraphBuilder()
    index = g.add("op.index")["index"]
    for boundary in ("skip", "wrap"):
        out = g.add("op.output", boundary, type="u8", shape="[64]")
        twice = g.add("op.multiply", a=index, b=2.0)["out"]
        g.add("op.store", buffer=out["buffer"], index=twice, value=index, boundary=boundary)
    image = g.add("op.output", "image", type="float2", shape="[4, 8]")
    ports = {"x": index, "y": 2.0, "value": g.add("op.vector2", x=index, y=-1.0)["out"]}
    y = g.add("op.constant", value=2)["out"]
    g.add("op.store_2d", buffer=image["buffer"], **{**ports, "y": y})
    sizes = {"skip": np.full(64, 9, np.uint8), "wrap": np.zeros(64, np.uint8), "image": np.zeros((4, 8, 2), np.float32)}
    found = run(device, g.graph(), {}, size, outputs=sizes)
    expected = np.full(64, 9, np.uint8)
    expected[::2] = np.arange(32)
    np.testing.assert_array_equal(found["skip"], expected)
    assert set(found["wrap"][::2].tolist()) <= set(range(size))
    for at, value in enumerate(found["wrap"].tolist()):
        assert value in [i for i in range(size) if i * 2 % 64 == at] or (at % 2 and value == 0)
    rows = np.zeros((4, 8, 2), np.float32)
    rows[2] = np.stack([np.arange(8), np.full(8, -1)], axis=-1)
    np.testing.assert_array_equal(found["image"], rows)


def test_parameters_and_the_frame_are_read_anew_by_each_launch(device: Device) -> None:
    """Each launch reads a parameter of each type, and the frame uniforms."""
    g = OpGraphBuilder()
    kinds = {"f32": 2.5, "s32": -7, "u32": 2**32 - 1, "f64": 0.1, "s64": -(2**40), "u64": 2**63, "boolean": 1}
    for kind in kinds:
        g.add("op.output", f"out_{kind}", value=g.add("op.parameter", kind, type=kind)["out"])
    frame = g.add("op.frame", "frame")
    for name in ("time", "index", "time_step"):
        g.add("op.output", name, value=frame[name])
    expected = Reference(g.graph(), {}, (7,), kinds).outputs()
    for name, found in run(device, g.graph(), {}, 7, **kinds).items():
        assert_same(found, expected[name], name)
