"""A kernel's manifest applies when a patch runs the kernel, and its mistakes are reported on the node."""

import json
from pathlib import Path
from typing import Any

from warploom import Engine, Patch
from warploom.api import Block, BlockBuilder, Kernel, Out, f32, param, port
from warploom.engine.device.device import Device

PTX = """.version 7.8
.target sm_75
.address_size 64
.visible .entry mark(.param .u64 data)
{
    .reg .b32 %r<2>;
    .reg .f32 %f<2>;
    .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [data];
    mov.u32 %r1, %tid.x;
    cvt.rn.f32.u32 %f1, %r1;
    mul.wide.u32 %rd2, %r1, 4;
    add.s64 %rd3, %rd1, %rd2;
    st.global.f32 [%rd3], %f1;
    ret;
}
"""


class Mark(Block, id="test_manifests.mark"):
    """Launches a kernel of a file with one thread block."""

    out: Out[f32] = port(shape="[64]", doc="The number of each thread.")
    file: str = param("", structural=True, doc="The kernel's file.")
    threads: int = param(64, structural=True, doc="How many threads.")

    def describe(self, build: BlockBuilder) -> None:
        build.launch(
            Kernel(self.file, entry="mark"),
            num_threads=self.threads,
            thread_block=(self.threads, 1, 1),
            args=(self.out,),
        )


def said(folder: Path, device: Device, ptx: str, manifest: dict[str, Any], threads: int) -> list[tuple[str, str]]:
    """Return file name and message of the errors of one frame with this kernel."""
    (folder / "mark.ptx").write_text(ptx)
    full = {"name": "mark", "parameters": [{"index": 0, "name": "data"}]} | manifest
    (folder / "mark.json").write_text(json.dumps(full))
    patch = Patch()
    patch.add("test_manifests.mark", file=str(folder / "mark.ptx"), threads=threads)
    with Engine(patch, device=device) as engine:
        return [(Path(item.file or "").name, item.message) for item in engine.step().diagnostics if item.node]


def test_a_manifest_limits_the_threads_of_a_launch(tmp_path: Path, device: Device) -> None:
    """A launch with more threads than the manifest allows is refused."""
    assert said(tmp_path, device, PTX, {"max_threads": 32}, 32) == []
    (found,) = said(tmp_path, device, PTX, {"max_threads": 32}, 64)
    assert found == ("", "thread_block of mark must hold at most 32, got 64")


def test_mistakes_of_a_ptx_file_or_its_manifest_name_the_file(tmp_path: Path, device: Device) -> None:
    """Mistakes of a PTX file or its manifest name the file, even if only the device notices them."""
    (found,) = said(tmp_path, device, PTX, {"shared_memory_static": 4}, 32)
    assert found == ("mark.json", "mark.json must fit the PTX of mark: shared_memory_static must be 0, got 4")
    (found,) = said(tmp_path, device, PTX.replace("7.8", "99.0"), {}, 32)
    assert found == ("mark.ptx", "mark.ptx: PTX line 1: version must be one that is known, up to 9.x, got 99.0")
    (found,) = said(tmp_path, device, PTX.replace("add.s64", "add.s65"), {}, 32)
    assert found[0] == "mark.ptx"
