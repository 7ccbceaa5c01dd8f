"""Every element type has the size, alignment and offsets that the CUDA C++ compiler gives it."""

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fuzzing import many
from tests.types.structs import ALL_TYPES, fields_of, make_struct, struct_of
from tests.types.test_structs import Inner, Named, Outer
from warploom.engine.diagnostics import KernelError
from warploom.engine.kernel_sources.cuda.library import toolkit_folders
from warploom.engine.kernel_sources.cuda.nvrtc import compile_cuda
from warploom.engine.kernel_sources.image import KERNELS_FOLDER
from warploom.engine.types import NAMED, DType, declaration, f32, field_offset, float3, layout_text, s64, u8

_KERNEL = 'extern "C" __global__ void nothing() {}'
_HEADERS = "".join(f"#include <{name}>\n" for name in ("cuComplex.h", "cuda_bf16.h", "cuda_fp16.h", "warploom/pixel.h"))


def measured(source: str, expressions: list[str]) -> list[int]:
    """Return the values of constant expressions, as the CUDA C++ compiler computes them after `source`."""
    lines = [f'extern "C" __device__ unsigned wl_{index} = {value};' for index, value in enumerate(expressions)]
    text = "\n".join([source, *lines, _KERNEL])
    ptx = compile_cuda(text, Path("layouts.cu"), "compute_75", [KERNELS_FOLDER, *toolkit_folders()]).ptx
    found = dict(re.findall(r"\.u32 wl_(\d+)(?: = (\d+))?;", ptx))
    assert len(found) == len(expressions)
    return [int(found[str(index)] or 0) for index in range(len(expressions))]


def test_scalars_and_vectors_have_the_layout_of_their_cuda_types() -> None:
    """Each type has the size and alignment that the compiler reports for it."""
    names = [dtype.cuda_name for dtype in NAMED.values()]
    found = measured(_HEADERS, [f"{what}({name})" for name in names for what in ("sizeof", "alignof")])
    assert dict(zip(NAMED, zip(found[::2], found[1::2], strict=True), strict=True)) == {
        name: (dtype.size_bytes, dtype.alignment) for name, dtype in NAMED.items()
    }


@settings(max_examples=many(5))
@given(st.lists(st.tuples(fields_of(ALL_TYPES), fields_of(ALL_TYPES)), min_size=12, max_size=12))
def test_random_structs_have_the_layout_that_the_compiler_gives(
    drawn: list[tuple[list[tuple[DType, tuple[int, ...]]], list[tuple[DType, tuple[int, ...]]]]],
) -> None:
    """Random structs, with arrays and with a struct inside, have the compiler's sizes, alignments and offsets."""
    expressions: list[str] = []
    expected: list[int] = []
    source = ""
    for index, (inner_fields, fields) in enumerate(drawn):
        inner = struct_of(f"Inner{index}", inner_fields)
        struct = struct_of(f"Outer{index}", [*fields, (inner, ()), *fields[:1], (inner, (2,))])
        # Without the assertions that `declaration` adds, to measure the compiler's own numbers.
        source += re.sub(r"static_assert.*", "", declaration(struct))
        for each in (inner, struct):
            name = each.__name__
            expressions += [f"sizeof({name})", f"alignof({name})"]
            expressions += [f"__INTADDR__(&(({name}*)0)->{field})" for field in each.fields]
            expected += [each.size_bytes, each.alignment, *(field_offset(each, field) for field in each.fields)]
    assert measured(source, expressions) == expected


def test_declarations_that_share_a_struct_follow_each_other() -> None:
    """Each struct is declared once, inner structs first, and all assertions hold for the compiler."""
    text = declaration(Inner) + declaration(Outer) + declaration(Named)
    compile_cuda(f"{text}{_KERNEL}", Path("shared.cu"), "compute_75", toolkit_folders())
    assert declaration(Named).index("struct Inner {") < declaration(Named).index("struct Named {")


def test_a_declaration_that_is_changed_does_not_compile() -> None:
    """A changed declaration doesn't compile, and the error names the struct and the field that moved."""
    text = declaration(Inner).replace("unsigned char flag;", "float4 flag[2];")
    with pytest.raises(KernelError, match="Inner must be 32 bytes"):
        compile_cuda(text, Path("changed.cu"), "compute_75", [])
    text = (
        declaration(make_struct("Pair", a=f32, b=f32)).replace("float a", "int b_").replace("float b;", "float a, b;")
    )
    with pytest.raises(KernelError, match="Pair::a must be at byte 0"):
        compile_cuda(text, Path("changed.cu"), "compute_75", [])


def test_types_that_cannot_be_declared_are_refused() -> None:
    """A type that is no struct, a field named like a C++ keyword, and two structs of one name are refused."""
    with pytest.raises(TypeError, match="a declaration must be of a struct, got float3"):
        declaration(float3)
    with pytest.raises(TypeError, match=r"struct P: a name in it must not be a keyword of C\+\+, got new"):
        declaration(make_struct("P", new=f32))
    one, two = make_struct("Same", x=f32), make_struct("Same", y=f32)
    with pytest.raises(TypeError, match="different structs inside Both must have different names, got two called Same"):
        declaration(make_struct("Both", a=one, b=two))


def test_a_layout_reads_as_fields_with_their_offsets() -> None:
    """Offsets count from the start of the whole element, inside inner structs too."""
    assert layout_text(u8) == "u8: 1 byte"
    assert layout_text(float3) == "float3: 12 bytes"
    assert layout_text(make_struct("Pair", a=f32, b=s64)) == "Pair: 16 bytes: a f32 @0, b s64 @8"
    assert (
        layout_text(Outer) == "Outer: 64 bytes: scale f16 @0, inner Inner @16 (flag u8 @16, position float4 @32), "
        "tail u16 @48"
    )
