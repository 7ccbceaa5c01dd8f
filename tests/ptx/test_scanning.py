"""`read_signatures` scans PTX without the parser, and returns the same signatures as the parser."""

from pathlib import Path

import pytest

from warploom.engine.kernel_sources.image import KERNELS_FOLDER
from warploom.engine.kernel_sources.loader import load_image
from warploom.engine.kernel_sources.sources import CudaText
from warploom.engine.ptx import parse, read_signatures

FILES = sorted([*KERNELS_FOLDER.rglob("*.cu"), *Path(__file__).parents[1].glob("runtime/*.cu")])

SHARED = """.version 8.3
.target sm_80
.address_size 64
.shared .align 16 .b8 table[96];
.extern .shared .align 16 .b8 rest[];
.func (.param .b32 out) helper(.param .b32 a) {
	.reg .b32 %r<3>;
	/* mov.u32 %r1, 1; */
	mov.u32 %r1, 7;
	mov.u32 %r2, rest;
	st.param.b32 [out], %r2;
	ret;
}
.visible .entry calls(.param .u64 p, .param .align 4 .b8 q[12]) .maxntid 64, 2, 1 {
	.reg .pred %p<2>;
	.reg .b32 %r<9>;
	.reg .f32 %f<9>;
	.shared .align 4 .b8 own[20];
	.loc	1 2 3
	add.s32 	%r1, %r2, -7;
	@%p1 bra 	$L1;
	@!%p1 add.f32 %f1, %f2, 0f3F800000;
	{ .param .b32 a; st.param.b32 [a], %r1; .param .b32 b; call.uni (b), helper, (a); ld.param.b32 %r3, [b]; }
	ld.shared.b32 %r4, [table+4];
$L1:
	mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32
		{%f1,%f2}, {%r1,%r2},
		{%r3,%r4}, {%f3,%f4};
	ret;
}
.visible .entry plain(.param .u32 n) .reqntid 32 { .reg .b32 %r<2>; mov.u32 %r1, 1; ret; }
"""


@pytest.mark.parametrize(
    ("path", "architecture"),
    # Compiled once, also for `tests/blocks/test_kernels.py`; NVRTC writes another dialect for later architectures.
    [*((path, "sm_90") for path in FILES), *((path, "compute_100") for path in FILES[::8])],
    ids=lambda given: getattr(given, "name", given),
)
def test_signatures_of_compiled_kernels(path: Path, architecture: str) -> None:
    """Scanned and parsed signatures are equal for every kernel of Warploom, and for some at another architecture."""
    ptx = load_image(path, architecture).ptx
    assert read_signatures(ptx) == parse(ptx).signatures


def test_shared_memory_of_everything_named_counts() -> None:
    """A kernel's shared memory is that of the file, the kernel and the functions it calls, even over several lines."""
    found = read_signatures(SHARED)
    assert found == parse(SHARED).signatures
    calls = found["calls"]
    assert (calls.max_threads, calls.shared_bytes, calls.uses_dynamic_shared) == (128, 32 + 96, True)
    assert (found["plain"].required_threads, found["plain"].shared_bytes) == ((32, 1, 1), 0)


def test_signatures_of_a_long_kernel() -> None:
    """Scanning a kernel of half a million lines takes linear time and ends before the time limit."""
    lines = "\tadd.u32 %r1, %r1, 1;\n" * 500_000
    found = read_signatures(SHARED.replace("mov.u32 %r1, 1;", f"\n{lines}"))
    assert found == read_signatures(SHARED)


@pytest.mark.parametrize("asm", ["", r'asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %0, 0;\n}\n" :: "r"(count));'])
@pytest.mark.parametrize("architecture", ["compute_75", "compute_100"])
def test_signatures_of_kernels_with_inline_assembly(architecture: str, asm: str) -> None:
    """Braces at the start of a line in inline assembly, such as in `cuda_fp16.h`, don't end the function."""
    text = f"""#include <cuda_fp16.h>
extern "C" __global__ void first(__half* x, float by, int count) {{
    x[0] = __hmul(x[1], x[2]);
    {asm}
    x[3] = hexp(__hadd(x[0], __float2half(by)));
}}
extern "C" __global__ void second(__half* x, double by) {{ x[0] = __hsub(x[1], __double2half(by)); }}
"""
    image = load_image(CudaText(text), architecture)
    assert [*image.signatures] == ["first", "second"]
    assert read_signatures(image.ptx) == parse(image.ptx).signatures
