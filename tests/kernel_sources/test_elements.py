"""The CUDA C++ compiler reports the elements of a kernel's pointers, and structs of a wrong size are errors."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings

from tests.fuzzing import many
from tests.types.structs import ALL_TYPES, fields_of, struct_of
from warploom.engine.diagnostics import KernelError
from warploom.engine.kernel_sources.cuda.compiling import compile_source
from warploom.engine.kernel_sources.element_types import declared as elements_module
from warploom.engine.kernel_sources.element_types.declared import check_elements, pointer_elements
from warploom.engine.kernel_sources.element_types.names import PointerElement, named_types
from warploom.engine.kernel_sources.image import KernelImage
from warploom.engine.kernel_sources.loader import find_kernel, load_image
from warploom.engine.types import DType, Struct, any_type, c64, declaration, f16, f32, float3, float4, s32, u8

SOURCE = """
#include "shapes.h"
typedef double real;
typedef float* Address;
struct Announced;
namespace inner { struct __attribute__((packed)) Odd { char a; double b; }; }
template <class A, class B> struct Pair { A first; B second; };

/* extern "C" __global__ void many(float* commented) {} */
extern "C" __global__ void __launch_bounds__(128) many(
    const Shape* __restrict__ shapes,      // Shape* in a comment, too
    const float4* colours, unsigned long long *counts, real* values, Address address, inner::Odd* odd,
    Pair<float, int>* pairs, void* raw, Announced* later, float** rows, Shape by_value, long long number, float scale,
    const volatile unsigned char* bytes, float3 table[]) {}
extern "C" __global__ void plain(float* x, const uchar4* y, int n) { x[n] = y[n].x; }
"""
SHAPES = "#pragma once\nstruct Shape { float3 at; unsigned char flags; };\n"


def image_of(folder: Path, source: str, architecture: str = "compute_75", name: str = "test.cu") -> KernelImage:
    """Write a kernel file and load it."""
    (folder / "shapes.h").write_text(SHAPES)
    (folder / name).write_text(source)
    return load_image(folder / name, architecture)


def sizes(elements: tuple[PointerElement | None, ...]) -> list[tuple[int, bool] | None]:
    """Return each element's size, and whether it is a struct."""
    return [(item.size_bytes, item.is_struct) if item is not None else None for item in elements]


@pytest.mark.parametrize("architecture", ["compute_75", "compute_100", "sm_90"])
def test_every_kind_of_parameter_is_described(tmp_path: Path, architecture: str) -> None:
    """Elements behind includes, typedefs, packing, templates and arrays are known; values and void* have none."""
    image = image_of(tmp_path, SOURCE, architecture)
    found = pointer_elements(image, "many")
    assert [item.name for item in found if item is not None and item.is_struct] == [
        "Shape",
        "inner::Odd",
        "Pair<float, int>",
    ]
    assert sizes(found) == [
        (16, True),  # Shape, 4-byte aligned
        (16, False),  # float4
        (8, False),
        (8, False),  # real
        (4, False),  # a typedef of float*
        (9, True),  # packed
        (8, True),  # Pair<float, int>
        None,  # void*
        None,  # an incomplete type
        (8, False),  # pointers
        None,
        None,
        None,
        (1, False),
        (12, False),
    ]
    assert sizes(pointer_elements(image, "plain")) == [(4, False), (4, False), None]


def test_structs_carry_their_names(tmp_path: Path) -> None:
    """An element's struct has the name that it has in the source."""
    source = SHAPES + 'extern "C" __global__ void one(struct Shape const *__restrict__ x, int n) {}'
    assert pointer_elements(image_of(tmp_path, source), "one") == (PointerElement(16, "Shape", True), None)


def test_nothing_is_compiled_where_names_tell_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If type names suffice, elements are known without compiling, and each file is searched once."""
    kernel = 'extern "C" __global__ void plain(float* x, __half* y, unsigned short* z, size_t n) {}'
    image = image_of(tmp_path, f"#include <cuda_fp16.h>\n{kernel}")

    def refuse(*_: Any) -> None:
        raise AssertionError("compiled")

    monkeypatch.setattr(elements_module, "probe_types", refuse)
    assert sizes(pointer_elements(image, "plain")) == [(4, False), (2, False), (2, False), None]
    (tmp_path / "test.cu").write_text("")
    assert sizes(pointer_elements(image, "plain")) == [(4, False), (2, False), (2, False), None]


def test_a_saved_body_of_a_kernel_needs_no_second_compile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The types of a kernel's parameters follow from what is around its body: after a save of that, they are cached."""
    texts: list[str] = []

    def compiled(source: Any, text: str, *others: Any) -> Any:
        texts.append(text)
        return compile_source(source, text, *others)

    monkeypatch.setattr(elements_module, "compile_source", compiled)
    for body in (
        "",
        "\n#pragma unroll 4\nfor (int i = 0; i < n; i++) { x[i] = {}; }  // }\n\n",
        "if (n == '}') x[0] = x[1];",
    ):
        kernel = f'extern "C" __global__ void one(Shape* x, int n) {{{body}}}'
        image = image_of(tmp_path, f"{SHAPES}{kernel}\ntypedef Shape Last;\n" + kernel.replace("one(Shape", "two(Last"))
        assert sizes(pointer_elements(image, "one")) == sizes(pointer_elements(image, "two")) == [(16, True), None]
    assert len(texts) == 3 and len({*texts}) == 1


@pytest.mark.parametrize(
    ("body", "size"),
    [("\n#define Next Shape\n", 16), ("\n#define Next char\n", 1), ("CLOSES OPENS", 4)],
    ids=["struct", "number", "braces"],
)
def test_what_a_body_says_to_the_preprocessor_counts(tmp_path: Path, body: str, size: int) -> None:
    """A type may follow from a macro that a kernel's body defines, or stand after braces of macros."""
    text = "#define Next float\n#define CLOSES }\n#define OPENS void between() {\n"
    text = text.replace("#define Next float\n", "") if "Next" in body else text
    first, second = f"void first(int n) {{{body}}}", "void second(Next* x) {}"
    image = image_of(tmp_path, SHAPES + text + "".join(f'extern "C" __global__ {each}\n' for each in (first, second)))
    assert sizes(pointer_elements(image, "second")) == [(size, size == 16)]


@pytest.mark.parametrize("hidden", ['R"(\n{\n)"', '"" // \\\n {\n'], ids=["raw string", "continued comment"])
def test_a_brace_that_is_no_code_takes_no_other_kernel_along(tmp_path: Path, hidden: str) -> None:
    """A body that seems to go on to the end of the text stays."""
    first = f'extern "C" __global__ void first(Shape* x) {{ const char* text = {hidden}; }}\n'
    second = 'typedef Shape Next;\nextern "C" __global__ void second(Next* x) {}'
    image = image_of(tmp_path, SHAPES + first + second)
    assert [sizes(pointer_elements(image, name)) for name in ("first", "second")] == [[(16, True)]] * 2


def test_a_file_that_is_loaded_again_is_looked_at_again(tmp_path: Path) -> None:
    """When a file is loaded again, a struct that grew in a header has its new size."""
    source = '#include "shapes.h"\nextern "C" __global__ void one(Shape* x) {}'
    before = pointer_elements(image_of(tmp_path, source), "one")
    (tmp_path / "shapes.h").write_text(SHAPES.replace("flags;", "flags; double more;"))
    after = pointer_elements(load_image(tmp_path / "test.cu", "compute_75"), "one")
    assert (sizes(before), sizes(after)) == ([(16, True)], [(24, True)])


def test_entries_that_cannot_be_named_do_not_hide_the_others(tmp_path: Path) -> None:
    """A kernel that a macro makes in a namespace has unknown elements, but other kernels' are known."""
    image = image_of(
        tmp_path,
        SHAPES + "#define KERNEL(name) __global__ void name(Shape* x)\n"
        "namespace deep { KERNEL(hidden) {} }\n"
        "template <class T> __global__ void of(T* x) {}\n"
        "template __global__ void of<Shape>(Shape*);\n"
        'extern "C" __global__ void open(Shape* x) {}',
    )
    mangled = next(name for name in image.signatures if name.startswith("_Z"))
    assert sizes(pointer_elements(image, "open")) == [(16, True)]
    assert sizes(pointer_elements(image, "of_Shape")) == [(16, True)]
    assert sizes(pointer_elements(image, mangled)) == [None]


def test_an_entry_point_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    """Asking for the elements or the signature of an unknown entry point is an error."""
    image = image_of(tmp_path, 'extern "C" __global__ void one(float* x) {}')
    with pytest.raises(KernelError, match="entry point two must be one of one"):
        pointer_elements(image, "two")


def test_an_entry_declared_in_two_ways_is_left_to_the_compiler() -> None:
    """A parameter that two declarations give different types is unknown, since `#if` decides between them."""
    text = "#if 1\n__global__ void f(float* x) {}\n#else\n__global__ void f(double* x) {}\n#endif"
    assert named_types(text, "f", [8]).unknown == {0}
    assert named_types("__global__ void f(float* x);\n__global__ void f(float* x) {}", "f", [8]).unknown == set()


@settings(max_examples=many(3))
@given(fields_of(ALL_TYPES))
def test_a_declared_struct_has_the_size_that_the_block_has(fields: list[tuple[DType, tuple[int, ...]]]) -> None:
    """A struct in a kernel that includes its `declaration` has the size that the block has."""
    from tempfile import TemporaryDirectory

    struct = struct_of("Drawn", fields)
    with TemporaryDirectory() as folder:
        source = declaration(struct) + 'extern "C" __global__ void one(const Drawn* x, Drawn* y) {}'
        found = pointer_elements(image_of(Path(folder), source), "one")
    assert sizes(found) == [(struct.size_bytes, True)] * 2
    assert check_elements([("x", struct), ("y", struct)], found, "one") == []


def test_a_manifest_tells_the_elements_of_ptx(tmp_path: Path) -> None:
    """A manifest gives the element types of PTX, by Warploom's or CUDA's names; without it they are unknown."""
    ptx = (
        ".version 7.8\n.target sm_75\n.address_size 64\n"
        ".visible .entry fill(.param .u64 a, .param .u64 b, .param .u64 c, .param .u64 d) { ret; }\n"
    )
    image = image_of(tmp_path, ptx, name="fill.ptx")
    assert pointer_elements(image, "fill") == (None,) * 4
    (tmp_path / "fill.json").write_text(
        '{"name": "fill", "parameters": [{"index": 0, "name": "a", "element_type": "c64"}, {"index": 1, "name": "b"}, '
        '{"index": 2, "name": "c", "element_type": "unsigned char"}, '
        '{"index": 3, "name": "d"}]}'
    )
    image = load_image(tmp_path / "fill.ptx", "compute_75")
    assert sizes(pointer_elements(image, "fill")) == [(8, False), None, (1, False), None]


def test_kernels_of_the_library_agree_with_their_blocks() -> None:
    """Particles, cameras and frame uniforms have the same sizes in kernels and in blocks."""
    from warploom.blocks.particles.camera import Camera
    from warploom.blocks.particles.particle import Particle
    from warploom.engine.compiler.frame import Frame

    found = pointer_elements(load_image(find_kernel("render_points.cu"), "compute_75"), "splat_points")
    assert [sizes(found)[0], sizes(found)[2]] == [(Particle.size_bytes, True), (Camera.size_bytes, True)]
    found = pointer_elements(load_image(find_kernel("integrate.cu"), "compute_75"), "integrate_particles")
    assert sizes(found)[:2] == [(Particle.size_bytes, True), (Frame.size_bytes, True)]


class Grown(Struct):
    """A shape with one field more than the kernel's."""

    at: float3
    flags: u8
    weight: f32


STRUCT = PointerElement(16, "Shape", True)


def test_a_struct_of_another_size_is_reported_with_both_layouts() -> None:
    """A struct of another size is reported with port, kernel and sizes, and with the expected and actual layout."""
    (mismatch,) = check_elements([None, ("shapes", Grown)], (None, STRUCT), "draw.cu:draw")
    assert mismatch.port == "shapes"
    assert mismatch.expected == "Shape: 16 bytes"
    assert mismatch.found == "Grown: 20 bytes: at float3 @0, flags u8 @12, weight f32 @16"
    assert mismatch.message == (
        "elements of shapes must be of the size that kernel draw.cu:draw gives Shape: 16 bytes, "
        "got Grown: 20 bytes: at float3 @0, flags u8 @12, weight f32 @16"
    )
    assert "declaration" in mismatch.remedy


@pytest.mark.parametrize(
    ("dtype", "element", "wrong"),
    [
        (Grown, STRUCT, True),
        (float3, STRUCT, True),
        (float4, STRUCT, False),  # the same size
        (u8, STRUCT, False),  # records as bytes
        (s32, STRUCT, False),
        (s32, PointerElement(6, "Odd", True), True),
        (Grown, PointerElement(4, "float"), False),  # a struct read as numbers
        (float3, PointerElement(4, "float"), False),
        (f32, PointerElement(16, "float4"), False),
        (any_type, STRUCT, False),  # a type that is not known yet
        (Grown, None, False),
        (f32, PointerElement(8, "double"), True),
        (f32, PointerElement(4, "int"), True),
        (f32, PointerElement(4, "unsigned int"), False),  # the bits of a number, as atomic functions need them
        (s32, PointerElement(4, "unsigned int"), False),
        (s32, PointerElement(4, "float"), True),
        (f16, PointerElement(2, "__nv_bfloat16"), True),
        (f16, PointerElement(2, "half"), False),
        (float3, PointerElement(16, "float4"), True),
        (float3, PointerElement(8, "double"), True),
        (c64, PointerElement(4, "float"), False),
        (c64, PointerElement(16, "double2"), True),
        (Grown, PointerElement(8, "double"), True),
        (f32, PointerElement(8, "parameter 0"), True),  # a size that the compiler reported
        (f32, PointerElement(8, "parameter 0", is_vector=True), False),
        (f32, PointerElement(0, "Unknown"), False),
    ],
)
def test_elements_of_another_size_or_kind_are_wrong(dtype: DType, element: PointerElement | None, wrong: bool) -> None:
    """Elements must have the kernel's size and kind, but plain numbers may be read as vectors or as bits."""
    assert bool(check_elements([("x", dtype)], [element], "k")) is wrong


def test_a_double_under_another_name_is_distinguished_from_a_vector(tmp_path: Path) -> None:
    """An 8-byte element that is a double may not stand for f32 numbers, but a vector of two floats may."""
    source = "typedef double real; typedef float2 pair;\n"
    image = image_of(tmp_path, source + 'extern "C" __global__ void one(real* x, const pair* y) {}')
    found = check_elements([("x", f32), ("y", f32)], pointer_elements(image, "one"), "test.cu:one")
    assert [mismatch.port for mismatch in found] == ["x"]
