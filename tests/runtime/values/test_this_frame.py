"""Numbers that the device computes, and kernels that read them in the same frame."""

from pathlib import Path
from typing import Any

import numpy as np

from warploom import Engine, Patch, UpdateLevel
from warploom.api import Composite, CompositeBuilder
from warploom.engine.device.device import Device
from warploom.engine.kernel_sources.loader import load_image
from warploom.engine.kernel_sources.sources import CudaText
from warploom.engine.patch.changes import Connection, Disconnected, ParameterChanged, PortRef
from warploom.engine.protocol.messages import KernelFilesChanged, Reset
from warploom.engine.runtime.check.check_patch import plan_patch

#: Every type of a number in CUDA C++, by the name of the parameter.
KINDS = {
    "f": "float", "d": "double", "b": "bool", "i": "int", "u": "unsigned int", "l": "long long",
    "q": "unsigned long long", "s": "short", "v": "unsigned short", "c": "signed char", "y": "unsigned char",
}  # fmt: skip
EVERY = (
    'extern "C" __global__ void every(double* out, '
    + ", ".join(f"{kind} {name}" for name, kind in KINDS.items())
    + ") {\n    if (threadIdx.x) return;\n"
    + "".join(f"    out[{i}] = static_cast<double>({name});\n" for i, name in enumerate(KINDS))
    + "}\n"
)


def growing(patch: Patch, data: Any = (1.5, -2.5, 4.0), region: str = "") -> Any:
    """Add an array plus the number of the frame, and return its block."""
    if "frame" not in patch.nodes:
        patch.add("value.expression", node_id="frame", text="frame")
    array = patch.add("io.array", data=np.array(data, np.float32))
    made = patch.add("math.scale_offset", region=region)
    patch.connect(array["out"], made["x"])
    patch.connect(patch["frame"]["value"], made["offset"])
    return made


def number(patch: Patch, source: Any, node: str = "number", region: str = "", **which: Any) -> Any:
    """Add a Buffer to Value."""
    made = patch.add("value.from_buffer", node_id=node, region=region, **which)
    patch.connect(source, made["x"])
    return made["value"]


def driven(patch: Patch, value: Any, node: str = "driven", region: str = "") -> Any:
    """Add a block whose kernel adds a value to zeros; return its output."""
    array = patch.add("io.array", data=np.zeros(3, np.float32))
    made = patch.add("math.scale_offset", node_id=node, region=region)
    patch.connect(array["out"], made["x"])
    patch.connect(value, made["offset"])
    return made["out"]


def test_every_type_reads_the_number_of_its_frame(device: Device) -> None:
    """Each number of a kernel, of every type, is the one that the CPU would pass for the buffer of the same frame."""
    patch = Patch()
    source = growing(patch)
    patch.add("kernel.cuda", node_id="every", code=EVERY, shapes=f"out: [{len(KINDS)}]")
    for index in range(3):
        number(patch, source["out"], f"number{index}", index=index)
    for which, name in enumerate(KINDS):
        patch.connect(patch[f"number{which % 3}"]["value"], patch["every"][name])
    parameters = patch.block_type("every").parameters
    with Engine(patch, device) as engine:
        for _ in range(3):
            report = engine.step()
            assert set(report.nodes["every"].this_frame) == set(KINDS)
            numbers = engine.read(source["out"]).astype(float)
            wanted = []
            for which, name in enumerate(KINDS):
                low, high = parameters[name].driven_range
                value = numbers[which % 3]
                value = {"int": round(value), "bool": float(value != 0)}.get(parameters[name].type, value)
                wanted.append(min(max(value, low), high))
            found = engine.read(patch["every"]["out"])
            np.testing.assert_array_equal(found, [np.float32(wanted[0]), *wanted[1:]])


def test_connecting_takes_another_graph_and_typing_none(device: Device) -> None:
    """A drive that a kernel follows is COLD and keeps all state; without it, a typed value is HOT again."""
    patch = Patch()
    source = growing(patch)
    value = number(patch, source["out"], number="largest")
    out = driven(patch, value)
    delayed = patch.add("buffer.frame_delay", node_id="delay")
    patch.connect(out, delayed["x"])
    with Engine(patch, device) as engine:
        engine.step()
        removed = Disconnected(Connection(value, patch["driven"]["offset"]))
        assert engine.cost_of(removed).level is UpdateLevel.COLD
        assert engine.cost_of(ParameterChanged("delay", "initial", 1.0, 0.0)).level is UpdateLevel.WARM
        patch.disconnect(PortRef("driven", "offset"))
        report = engine.step()
        assert report.update_level is UpdateLevel.COLD
        assert report.nodes["driven"].this_frame == ()
        patch.set("driven", offset=5.0)
        assert engine.step().update_level is UpdateLevel.HOT
        np.testing.assert_array_equal(engine.read(out), [5, 5, 5])
        patch.connect(value, patch["driven"]["offset"])
        assert engine.step().update_level is UpdateLevel.COLD
        assert engine.read(out)[0] == engine.read(source["out"]).max() == 7
        np.testing.assert_array_equal(engine.read(delayed["out"]), [5, 5, 5])
        assert engine.step().update_level <= UpdateLevel.HOT


def test_two_engines_and_a_restart_give_the_same(device: Device) -> None:
    """A second engine, an engine without fusion, one that begins again and one from a saved state have equal frames."""
    patch = Patch()
    source = growing(patch)
    out = driven(patch, number(patch, source["out"], number="mean"))
    with Engine(patch, device) as one, Engine(patch, device, fuse=False) as other:
        frames = []
        for _ in range(3):
            one.step()
            other.step()
            frames.append(one.read(out))
            np.testing.assert_array_equal(frames[-1], other.read(out))
            assert frames[-1][0] == np.float32(np.mean(one.read(source["out"]), dtype=np.float64))
        other.core.put_state(one.core.take_state())
        one.step()
        other.step()
        np.testing.assert_array_equal(one.read(out), other.read(out))
        one.post(Reset())
        for frame in frames:
            one.step()
            np.testing.assert_array_equal(one.read(out), frame)


def test_a_number_that_is_not_finite_leaves_the_last_one(device: Device) -> None:
    """NaN and infinity keep the last finite number, as on the CPU, and are told at the Buffer to Value."""
    patch = Patch()
    array = patch.add("io.array", node_id="data", data=np.array([np.nan], np.float32))
    out = driven(patch, number(patch, array["out"]))
    with Engine(patch, device) as engine:
        found = []
        for data in (np.nan, 7.0, np.inf, -np.inf, 8.0):
            patch.set("data", data=np.array([data], np.float32))
            engine.step()
            found.append(engine.read(out)[0])
        assert found == [0, 7, 7, 7, 8]
        patch.set("data", data=np.array([np.nan], np.float32))
        engine.step()
        assert [item.node for item in engine.step().diagnostics] == ["number"]


def test_a_skipped_region_leaves_the_last_number(device: Device) -> None:
    """A number in a region that doesn't run stays, for kernels outside; before its first run it is 0."""
    patch = Patch()
    condition = patch.add("io.array", node_id="condition", data=np.zeros(1, np.uint32))
    patch.connect(condition["out"], patch.add("control.if", node_id="if")["condition"])
    source = growing(patch, region="if")
    out = driven(patch, number(patch, source["out"], region="if"))
    with Engine(patch, device) as engine:
        found = []
        for runs in (0, 1, 0, 1):
            patch.set("condition", data=np.array([runs], np.uint32))
            assert engine.step().nodes["driven"].this_frame == ("offset",)
            found.append(engine.read(out)[0])
    assert found == [0, 2.5, 2.5, 4.5]


def test_kernels_in_a_loop_read_the_number_of_their_turn(device: Device) -> None:
    """In the loop that computes it, a number is that of the turn; after the loop, it is the last one."""
    patch = Patch()
    loop = patch.add("control.for", node_id="loop", count=5)
    value = number(patch, loop["index"], region="loop")
    inside, outside = driven(patch, value, "inside", "loop"), driven(patch, value, "outside")
    with Engine(patch, device) as engine:
        for count in (5, 3):
            patch.set("loop", count=count)
            report = engine.step()
            assert report.nodes["inside"].this_frame == report.nodes["outside"].this_frame == ("offset",)
            assert engine.read(inside)[0] == engine.read(outside)[0] == count - 1


def test_drives_that_can_not_be_followed_have_the_newest_finished_frame(device: Device) -> None:
    """A circle, a value block between, the other branch, a region's count and a live block get the last frame's number.

    So does a block that must read contents before the change in place that decides the number.
    """
    patch = Patch()
    source = growing(patch)
    value = number(patch, source["out"])
    patch.connect(value, patch.add("value.expression", node_id="between", text="a")["a"])
    out = driven(patch, patch["between"]["value"])
    patch.connect(value, patch.add("control.for", node_id="loop")["count"])
    patch.add("math.scale_offset", node_id="turn", region="loop")
    patch.connect(source["out"], patch["turn"]["x"])
    number(patch, source["out"], "other")
    patch.connect(value, patch["other"]["index"])
    circle = driven(patch, value, "circle")
    patch.connect(number(patch, circle, "round"), patch["circle"]["scale"])
    patch.add("control.if_else", node_id="choice")
    patch.connect(source["out"], patch["choice"]["condition"])
    first = number(patch, source["out"], "first", region="choice")
    driven(patch, first, "second", region="choice.else")
    copy, change = patch.add("buffer.copy"), patch.add("buffer.assign", node_id="change")
    patch.connect(source["out"], copy["x"])
    patch.connect(copy["out"], change["target"])
    patch.connect(circle, change["value"])
    patch.add("math.scale_offset", node_id="early")
    patch.connect(copy["out"], patch["early"]["x"])
    patch.connect(number(patch, change["out"], "changed"), patch["early"]["offset"])
    with Engine(patch, device) as engine:
        for _ in range(3):
            report = engine.step()
        assert not [item for item in report.diagnostics if item.severity == "error"]
        followed = {node: each.this_frame for node, each in report.nodes.items() if each.this_frame}
        assert followed == {"circle": ("offset",)}
        assert engine.read(out)[0] == report.values["number.value"] == engine.read(source["out"])[0] - 1


def test_a_source_that_can_not_run_leaves_its_kernels_running(device: Device) -> None:
    """A Buffer to Value without an input is incomplete; the block that it drives runs with the CPU's value."""
    patch = Patch()
    out = driven(patch, patch.add("value.from_buffer", node_id="number")["value"])
    with Engine(patch, device) as engine:
        report = engine.step()
        assert {item.node for item in report.diagnostics} == {"number"}
        assert report.nodes["driven"].this_frame == ()
        np.testing.assert_array_equal(engine.read(out), [0, 0, 0])
        source = growing(patch)
        patch.connect(source["out"], patch["number"]["x"])
        assert engine.step().nodes["driven"].this_frame == ("offset",)
        assert engine.read(out)[0] == engine.read(source["out"])[0]


def test_a_kernel_that_can_not_read_memory_has_the_cpus_number(device: Device, tmp_path: Path) -> None:
    """A kernel that takes the address of its parameter keeps its argument, and the patch has no error."""
    text = load_image(CudaText(EVERY), "compute_75").ptx
    load = next(line for line in text.splitlines() if "ld.param.f32" in line)
    taken = f"{{ .reg .b64 %at; mov.b64 %at, every_param_1; ld.param.f32 {load.split()[1]} [%at]; }}"
    (tmp_path / "every.ptx").write_text(text.replace(load, taken))
    patch = Patch()
    patch.path = tmp_path / "patch.loom"
    source = growing(patch)
    patch.add("kernel.file", file="every.ptx", node_id="every", shapes=f"every_param_0: [{len(KINDS)}]")
    patch.connect(number(patch, source["out"]), patch["every"]["every_param_1"])
    with Engine(patch, device) as engine:
        engine.step()
        report = engine.step()
        assert not [item for item in report.diagnostics if item.severity == "error"]
        assert report.nodes["every"].this_frame == ()
        assert engine.read(patch["every"]["every_param_0"])[0] == report.values["every.every_param_1"] == 1.5


def test_blocks_in_a_composite_read_numbers(device: Device) -> None:
    """A parameter that a composite exposes is read by all blocks that take it."""

    class Pair(Composite, id="test_numbers.pair"):
        """Adds one number twice."""

        def compose(self, build: CompositeBuilder) -> None:
            first = build.add_child("math.scale_offset", "first")
            second = build.add_child("math.scale_offset", "second")
            build.connect_children(first["out"], second["x"])
            build.expose_input("x", first["x"])
            build.expose_output("out", second["out"])
            build.expose_parameter("offset", first)
            build.expose_parameter("offset", second)

    patch = Patch()
    source = growing(patch)
    pair = patch.add("test_numbers.pair", node_id="pair")
    patch.connect(source["out"], pair["x"])
    patch.connect(number(patch, source["out"]), pair["offset"])
    with Engine(patch, device) as engine:
        for _ in range(2):
            assert engine.step().nodes["pair"].this_frame == ("offset",)
            numbers = engine.read(source["out"])
            np.testing.assert_array_equal(engine.read(pair["out"]), numbers + numbers[0] + numbers[0])


def test_a_saved_kernel_reads_numbers_too(device: Device, tmp_path: Path) -> None:
    """A kernel that is saved while it reads a number is swapped in, and a broken one leaves the last good version."""
    text = 'extern "C" __global__ void k(const float* x, float* out, float gain, int count) { *out = %s; }\n'
    (tmp_path / "k.cu").write_text(text % "gain")
    patch = Patch()
    patch.path = tmp_path / "patch.loom"
    source = growing(patch)
    kernel = patch.add("kernel.file", node_id="k", file="k.cu", shapes="out: [1]")
    patch.connect(source["out"], kernel["x"])
    patch.connect(number(patch, source["out"]), kernel["gain"])
    with Engine(patch, device) as engine:
        found = []
        for result in ("gain", "gain + 100.0f", "wrong", "-gain"):
            (tmp_path / "k.cu").write_text(text % result)
            engine.post(KernelFilesChanged(frozenset({tmp_path / "k.cu"})))
            found.append((engine.step().nodes["k"].this_frame, engine.read(kernel["out"])[0]))
    assert found == [(("gain",), 1.5), (("gain",), 102.5), (("gain",), 103.5), (("gain",), -4.5)]


def test_the_plan_of_a_patch_shows_what_kernels_read() -> None:
    """The plan without a device has the same connections as that of an engine, and a check finds nothing wrong."""
    patch = Patch()
    source = growing(patch)
    driven(patch, number(patch, source["out"]))
    plan, problems = plan_patch(patch)
    assert plan is not None and not problems
    assert PortRef("number", "value") in plan.description.targets_of
