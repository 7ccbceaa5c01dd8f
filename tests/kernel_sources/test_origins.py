"""PTX of every origin loads, has the right direction for each parameter, and runs on the host device."""

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from llvmlite import binding as llvm

from warploom.engine.device.host.device import HostDevice
from warploom.engine.kernel_sources.cuda.nvrtc import compile_cuda
from warploom.engine.kernel_sources.describe import describe_kernels
from warploom.engine.kernel_sources.loader import load_image

#: The kernel computes out[i] = a * x[i] + y[i] for i < n, and count += 1 for each.
CUDA = """extern "C" __global__ void work(const float* x, const float* y, float* out, int* count, float a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    out[i] = __fadd_rn(__fmul_rn(a, x[i]), y[i]);
    atomicAdd(count, 1);
}
"""
LLVM = """target triple = "nvptx64-nvidia-cuda"
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
define ptx_kernel void @work(ptr addrspace(1) %x, ptr addrspace(1) %y, ptr addrspace(1) %out, ptr addrspace(1) %count,
                             float %a, i32 %n) {
  %block = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %size = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %thread = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %start = mul i32 %block, %size
  %i = add i32 %start, %thread
  %inside = icmp slt i32 %i, %n
  br i1 %inside, label %body, label %done
body:
  %at.x = getelementptr float, ptr addrspace(1) %x, i32 %i
  %at.y = getelementptr float, ptr addrspace(1) %y, i32 %i
  %at.out = getelementptr float, ptr addrspace(1) %out, i32 %i
  %of.x = load float, ptr addrspace(1) %at.x
  %of.y = load float, ptr addrspace(1) %at.y
  %product = fmul float %of.x, %a
  %sum = fadd float %product, %of.y
  store float %sum, ptr addrspace(1) %at.out
  %before = atomicrmw add ptr addrspace(1) %count, i32 1 monotonic
  br label %done
done:
  ret void
}
"""
BY_HAND = """// out[i] = a * x[i] + y[i]
.version 6.4
.target sm_70, texmode_independent
.address_size 64
.visible .entry work (.param .u64 x, .param .u64 y,
  .param .u64 out, .param .u64 count, .param .f32 a, .param .u32 n)
.maxntid 256, 1, 1
{
  .reg .u32 i, limit, t<3>; .reg .u64 at_x, at_y, at_out, counter; .reg .f32 v<3>, k; .reg .pred out_of_range;
  mov.u32 t0, %ctaid.x; mov.u32 t1, %ntid.x; mov.u32 t2, %tid.x;
  mad.lo.u32 i, t0, t1, t2;
  ld.param.u32 limit, [n]; setp.hs.u32 out_of_range, i, limit;
  @out_of_range exit;
  ld.param.f32 k, [a];
  ld.param.u64 at_x, [x]; mad.wide.u32 at_x, i, 4, at_x; ldu.global.f32 v0, [at_x];
  ld.param.u64 at_y, [y]; mad.wide.u32 at_y, i, 4, at_y; ld.global.cs.f32 v1, [at_y];
  mul.rn.f32 v2, v0, k; add.rn.f32 v2, v2, v1;
  ld.param.u64 at_out, [out]; mad.wide.u32 at_out, i, 4, at_out; st.global.f32 [at_out], v2;
  ld.param.u64 counter, [count]; red.global.add.u32 [counter], 1;
  ret;
}
"""
#: The PTX of other compilers: nvcc 13.0 of CUDA for this kernel, and Triton 3.9 for an equal one.
RECORDED = Path(__file__).with_name("recorded")


def by_llvm() -> str:
    """Return the kernel as compiled by llvmlite's NVPTX backend."""
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    machine = llvm.Target.from_triple("nvptx64-nvidia-cuda").create_target_machine(
        cpu="sm_75", features="+ptx64", opt=3
    )
    text: str = machine.emit_assembly(llvm.parse_assembly(LLVM))
    return text


def by_nvcc() -> str:
    """Return the kernel as compiled by nvcc, with debug sections."""
    nvcc = shutil.which("nvcc")
    if nvcc is None:
        pytest.skip("needs nvcc")
    command = [nvcc, "-ptx", "-arch=compute_80", "-lineinfo", "-x", "cu", "-o", "-", "-"]
    return subprocess.run(command, input=CUDA, capture_output=True, text=True, check=True).stdout


def by_nvrtc(architecture: str) -> Callable[[], str]:
    """Return the kernel as compiled by NVRTC."""
    return lambda: compile_cuda(CUDA, Path("work.cu"), architecture, []).ptx


ORIGINS: dict[str, Callable[[], str]] = {
    "nvrtc, typed": by_nvrtc("compute_75"),
    "nvrtc, newest typed": by_nvrtc("compute_90"),
    "nvrtc, untyped": by_nvrtc("compute_100"),
    "nvrtc, newest": by_nvrtc("compute_120"),
    "nvcc": by_nvcc,
    "nvcc, recorded": (RECORDED / "nvcc.ptx").read_text,
    "triton, recorded": (RECORDED / "triton.ptx").read_text,
    "llvmlite": by_llvm,
    "by hand": lambda: BY_HAND,
}


@pytest.mark.parametrize("origin", ORIGINS)
def test_ptx_of_each_origin_loads_and_runs(tmp_path: Path, origin: str) -> None:
    """PTX of each compiler has the source's directions, and its results equal numpy's bit for bit."""
    file = tmp_path / "work.ptx"
    file.write_text(ORIGINS[origin]())
    image = load_image(file, "compute_90")
    (manifest,) = describe_kernels(image)
    parameters = manifest.parameters
    assert [p.direction for p in parameters[:4]] == ["in", "in", "out", "inout"]
    assert [p.is_pointer for p in parameters[:4]] == [True] * 4
    assert not any(p.is_pointer for p in parameters[4:6])
    # Triton declares its hidden parameters for scratch memory, which this code doesn't use, as pointers.
    assert all(p.is_pointer for p in parameters[6:])
    assert manifest.needs_review is (len(parameters) > 6)
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((2, 300), np.float32)
    device = HostDevice(cores=1, quick_first=False)
    try:
        kernel = device.load_module(image.payload("compute_90")).kernel("work")
        out, count = device.upload(np.zeros(300, np.float32)), device.upload(np.zeros(1, np.int32))
        hidden = [0] * (len(parameters) - 6)
        arguments = [device.upload(x), device.upload(y), out, count, np.float32(1.7), np.int32(300), *hidden]
        device.launch(kernel, (3,), (128,), arguments)
        assert np.array_equal(out.download(), np.float32(1.7) * x + y)
        assert count.download().tolist() == [300]
    finally:
        device.close()
