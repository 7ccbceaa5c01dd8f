"""In a process that watches no files, a newly opened patch and an added block use the files as they are now."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.fuzzing import many
from tests.waiting import repeated
from warploom import Engine, Patch, UpdateLevel
from warploom.engine.catalogue.catalogue import forget_blocks, trust_blocks
from warploom.engine.device.device import Device
from warploom.engine.diagnostics import PatchError
from warploom.engine.kernel_sources.loader import load_image
from warploom.engine.protocol.messages import KernelFilesChanged
from warploom.engine.readings import Reading
from warploom.engine.runtime.check.check_patch import check_patch

X = np.arange(1, 8, dtype=np.float32)
AFFINE = """extern "C" __global__ void k({}) {{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) out[i] = gain * x[i] + bias;
}}
"""
GAIN_FIRST = AFFINE.format("const float* x, float* out, float gain, float bias, int count")
BIAS_FIRST = AFFINE.format("const float* x, float* out, float bias, float gain, int count")
OUT_FIRST = AFFINE.format("float* out, const float* x, float gain, float bias, int count")
ADDED = """#include "added.h"
extern "C" __global__ void k(const float* x, float* out, int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) out[i] = x[i] + ADDED;
}
"""
TWICE = """.version 7.0
.target sm_75
.address_size 64
.visible .entry twice(.param .u64 a, .param .u64 b, .param .u32 count)
{
    .reg .pred %p; .reg .b32 %r<6>; .reg .b64 %rd<6>; .reg .f32 %f;
    ld.param.u64 %rd1, [a]; ld.param.u64 %rd2, [b]; ld.param.u32 %r1, [count];
    mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mov.u32 %r4, %tid.x;
    mad.lo.s32 %r5, %r2, %r3, %r4;
    setp.ge.s32 %p, %r5, %r1;
    @%p ret;
    mul.wide.s32 %rd3, %r5, 4;
    add.s64 %rd4, %rd1, %rd3; add.s64 %rd5, %rd2, %rd3;
    ld.global.f32 %f, [%rd4]; add.f32 %f, %f, %f; st.global.f32 [%rd5], %f;
    ret;
}
"""


def _placed(file: Path, patch: Patch | None = None, name: str = "k") -> Patch:
    patch = patch or Patch()
    patch.add("io.array", node_id=f"x_{name}", data=X)
    patch.add("kernel.file", node_id=name, file=str(file))
    return patch


def _run(patch: Patch, device: Device, name: str = "k", **values: float) -> list[float]:
    """Run a patch of `_placed` in a new engine, and check that the input isn't overwritten."""
    source, target, *_ = (port.name for port in _ports(patch, name))
    patch.connect(patch[f"x_{name}"]["out"], patch[name][source])
    patch.set(name, **values)
    with Engine(patch, device) as engine:
        assert engine.step().diagnostics == ()
        assert np.array_equal(engine.read(patch[f"x_{name}"]["out"]), X)
        return list(engine.read(patch[name][target]).tolist())


def _ports(patch: Patch, name: str = "k") -> list:  # type: ignore[type-arg]
    block_type = patch.block_type(name)
    assert block_type is not None
    return [*block_type.inputs(), *block_type.outputs()]


def _affine(gain: float, bias: float) -> list[float]:
    return list((np.float32(gain) * X + np.float32(bias)).tolist())


@pytest.mark.parametrize("text", [BIAS_FIRST, OUT_FIRST])
def test_exchanged_parameters_are_exchanged_in_a_new_patch(tmp_path: Path, device: Device, text: str) -> None:
    """In a new patch, values follow exchanged parameters by name, and no input is overwritten."""
    file = tmp_path / "k.cu"
    for contents in (GAIN_FIRST, text):
        file.write_text(contents)
        assert _run(_placed(file), device, gain=100, bias=2) == _affine(100, 2)


def test_a_new_parameter_is_known_to_a_new_patch(tmp_path: Path, device: Device) -> None:
    """In a new patch, the new parameter can be set, and the removed one can't."""
    file = tmp_path / "k.cu"
    file.write_text(GAIN_FIRST)
    _placed(file)
    file.write_text(GAIN_FIRST.replace("bias", "offset"))
    patch = _placed(file)
    assert _run(patch, device, gain=2, offset=3) == _affine(2, 3)
    with pytest.raises(PatchError, match="bias"):
        patch.set("k", bias=1)


def test_a_save_between_add_and_the_engines_start_is_followed(tmp_path: Path, device: Device) -> None:
    """The engine and the patch both use the file as it is when the engine starts, never a mixture of two versions."""
    file = tmp_path / "k.cu"
    file.write_text(GAIN_FIRST)
    patch = _placed(file)
    patch.connect(patch["x_k"]["out"], patch["k"]["x"])
    patch.set("k", gain=100, bias=2)
    file.write_text(BIAS_FIRST.replace("+ bias", "+ 10 * bias"))
    with Engine(patch, device) as engine:
        engine.watch_files()
        assert engine.step().diagnostics == ()
        assert engine.read(patch["k"]["out"]).tolist() == _affine(100, 20)


def test_a_block_that_is_added_brings_the_new_version_to_those_that_run(tmp_path: Path, device: Device) -> None:
    """A block that is added with a newer version of a file switches the running nodes of that file to it."""
    file = tmp_path / "k.cu"
    file.write_text(GAIN_FIRST)
    patch = _placed(file)
    patch.connect(patch["x_k"]["out"], patch["k"]["x"])
    patch.set("k", gain=100, bias=2)
    with Engine(patch, device) as engine:
        engine.step()
        file.write_text(OUT_FIRST.replace("gain *", "-gain *"))
        _placed(file, patch, "late")
        patch.connect(patch["x_late"]["out"], patch["late"]["x"])
        patch.set("late", gain=3, bias=4)
        assert engine.step().diagnostics == ()
        assert engine.read(patch["k"]["out"]).tolist() == _affine(-100, 2)
        assert engine.read(patch["late"]["out"]).tolist() == _affine(-3, 4)


def _break(file: Path) -> None:
    file.write_text(file.read_text().replace(";", "?", 1) + "}")


@pytest.mark.parametrize("way", [_break, Path.unlink])
@pytest.mark.parametrize(("name", "text", "expected"), [("k.cu", ADDED, X + 3), ("k.ptx", TWICE, 2 * X)])
def test_what_could_not_be_read_can_be_read_later(
    tmp_path: Path, device: Device, way: Callable[[Path], None], name: str, text: str, expected: np.ndarray
) -> None:
    """A file that was wrong or missing when it was first read, or that becomes so, is read again by a new patch."""
    (tmp_path / "added.h").write_text("#define ADDED 3\n")
    file = tmp_path / name
    for _ in range(2):
        file.write_text(text)
        way(file)
        patch = _placed(file)
        assert _ports(patch) == []
        with Engine(patch, device) as engine:
            (reported,) = engine.step().diagnostics
            assert reported.node == "k"
        file.write_text(text)
        assert _run(_placed(file), device) == expected.tolist()


def test_a_manifest_that_is_written_later_counts(tmp_path: Path, device: Device) -> None:
    """A manifest applies from when it is written until it is deleted."""
    file, manifest = tmp_path / "twice.ptx", tmp_path / "twice.json"
    file.write_text(TWICE)
    names: list[list[str]] = []
    for _ in range(2):
        names.append([port.name for port in _ports(_placed(file))])
        manifest.write_text(
            '{"name": "twice", "parameters": [{"index": 0, "name": "input", "direction": "in"},'
            '{"index": 1, "name": "output", "direction": "out"}, {"index": 2, "name": "count"}]}'
        )
        names.append([port.name for port in _ports(_placed(file))])
        assert _run(_placed(file), device) == (2 * X).tolist()
        manifest.unlink()
    assert names == 2 * [["a", "b"], ["input", "output"]]


def test_a_python_kernel_that_is_trusted_later_is_no_longer_refused(tmp_path: Path) -> None:
    """Once its folder is trusted, a Python kernel is no longer refused, neither in the open patch nor in another."""
    folder = tmp_path / "blocks"
    folder.mkdir()
    file = folder / "kernels.py"
    file.write_text(
        "from numba import cuda\n\n\n@cuda.jit\n"
        'def k(x: "float32[:]", out: "float32[:]"):\n'
        "    i = cuda.grid(1)\n    if i < out.size:\n        out[i] = x[i]\n"
    )
    patch = _placed(file)
    with Engine(patch, "host") as engine:
        assert "must lie in a folder of blocks that is trusted" in engine.step().diagnostics[0].message
        try:
            trust_blocks(folder)
            assert not any(
                "trusted" in item.message for item in (*engine.step().diagnostics, *check_patch(_placed(file)))
            )
        finally:
            forget_blocks(folder)


def test_a_header_that_appears_or_hides_another_is_found(tmp_path: Path, device: Device) -> None:
    """A header that appears later, or hides another one, changes the kernel of the next patch."""
    (tmp_path / "far").mkdir()
    file, near, far = tmp_path / "k.cu", tmp_path / "added.h", tmp_path / "far" / "added.h"
    file.write_text(ADDED)

    def placed() -> Patch:
        patch = _placed(file)
        patch.set("k", include_folders=str(tmp_path / "far"))
        return patch

    assert _ports(placed()) == []
    far.write_text("#define ADDED 3\n")
    assert _run(placed(), device) == (X + 3).tolist()
    near.write_text("#define ADDED 4\n")
    assert _run(placed(), device) == (X + 4).tolist()
    near.unlink()
    assert _run(placed(), device) == (X + 3).tolist()


@pytest.mark.parametrize("linked", ["k.cu", "added.h", "folder"])
def test_a_link_that_is_pointed_elsewhere_is_followed(tmp_path: Path, device: Device, linked: str) -> None:
    """A changed link to the kernel, to a header, or to their folder is followed."""
    for number in (3, 4):
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / "k.cu").write_text(ADDED.replace("x[i] +", f"{number} * x[i] +"))
        (folder / "added.h").write_text(f"#define ADDED {number}\n")
    place = tmp_path / "place"
    link = place
    if linked != "folder":
        shutil.copytree(tmp_path / "3", place)
        link = place / linked
    for number in (3, 4, 3):
        link.unlink(missing_ok=True)
        link.symlink_to(tmp_path / str(number) / link.relative_to(place))
        times, plus = number if linked != "added.h" else 3, number
        assert _run(_placed(place / "k.cu"), device) == (times * X + plus).tolist()


def test_a_file_of_the_same_size_and_time_is_another_file(tmp_path: Path, device: Device) -> None:
    """A file with other contents is used even if its size and time are the same."""
    file = tmp_path / "k.cu"
    for number in (3, 4, 3):
        file.write_text(ADDED.replace("ADDED;", f"{number};").replace('#include "added.h"', ""))
        os.utime(file, ns=(10**18, 10**18))
        assert _run(_placed(file), device) == (X + number).tolist()


def test_code_is_made_of_what_was_held_whatever_the_disk_holds(tmp_path: Path) -> None:
    """The compiler uses the headers as they were read before, whatever is on the disk now."""
    file, header = tmp_path / "k.cu", tmp_path / "added.h"
    file.write_text(ADDED)
    header.write_text("#define ADDED 3\n")
    reading = Reading()
    with reading.under_way():
        first = load_image(file, "compute_75")
    shutil.rmtree(tmp_path)
    with reading.under_way():
        again = load_image(file, "compute_80")
    assert first.text == again.text == ADDED
    assert first.ptx.partition(".visible")[2].replace("sm_75", "sm_80") == again.ptx.partition(".visible")[2]


def test_a_value_in_a_running_patch_stays_hot(tmp_path: Path, device: Device) -> None:
    """A changed value is a HOT update and keeps the running version of a file."""
    file = tmp_path / "k.cu"
    file.write_text(GAIN_FIRST)
    patch = _placed(file)
    patch.connect(patch["x_k"]["out"], patch["k"]["x"])
    with Engine(patch, device) as engine:
        engine.step()
        file.unlink()
        patch.set("k", gain=5, bias=1)
        assert engine.step().update_level is UpdateLevel.HOT
        assert engine.read(patch["k"]["out"]).tolist() == _affine(5, 1)


def test_a_file_that_is_said_to_be_saved_is_swapped_in_by_the_next_frame(tmp_path: Path, device: Device) -> None:
    """Without a watcher, a save that a program reports is swapped in by the next frame."""
    file = tmp_path / "k.cu"
    file.write_text(GAIN_FIRST)
    patch = _placed(file)
    patch.connect(patch["x_k"]["out"], patch["k"]["x"])
    patch.set("k", gain=5, bias=1)
    with Engine(patch, device) as engine:
        engine.step()
        for text, sign, level in (
            (GAIN_FIRST.replace("gain *", "-gain *"), -1, UpdateLevel.CODE),
            (OUT_FIRST, 1, UpdateLevel.COLD),
        ):
            file.write_text(text)
            engine.post(KernelFilesChanged(frozenset({file})))
            report = engine.step()
            assert (report.update_level, report.diagnostics) == (level, ())
            assert engine.read(patch["k"]["out"]).tolist() == _affine(sign * 5, 1)
            assert engine.step().update_level is UpdateLevel.NONE


@pytest.mark.parametrize("watches", [False, True])
def test_ports_and_code_are_of_one_version_however_often_the_file_is_saved(tmp_path: Path, *, watches: bool) -> None:
    """However often a file is saved meanwhile, a patch never mixes the ports and the code of two versions."""
    file, versions = tmp_path / "k.cu", [GAIN_FIRST, BIAS_FIRST, OUT_FIRST]
    file.write_text(GAIN_FIRST)

    def save() -> None:
        temporary = tmp_path / "k.tmp"
        versions.append(versions.pop(0))
        temporary.write_text(versions[-1])
        temporary.replace(file)

    with repeated(save, 0.01):
        for _ in range(many(5)):
            patch = _placed(file)
            patch.connect(patch["x_k"]["out"], patch["k"]["x"])
            patch.set("k", gain=100, bias=2)
            with Engine(patch, "host") as engine:
                if watches:
                    engine.watch_files()
                for _ in range(3):
                    assert engine.step().diagnostics == ()
                    assert engine.read(patch["k"]["out"]).tolist() == _affine(100, 2)
                    assert np.array_equal(engine.read(patch["x_k"]["out"]), X)
