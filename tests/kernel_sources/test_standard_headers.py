"""Headers that other people's CUDA programs include."""

from pathlib import Path

import pytest

from warploom.engine.diagnostics import KernelError
from warploom.engine.kernel_sources.cuda.library import toolkit_folders
from warploom.engine.kernel_sources.cuda.nvrtc import compile_cuda
from warploom.engine.kernel_sources.cuda.standard_headers import HEADERS

PLAIN = [name for name, text in HEADERS.items() if "cuda/std" not in text]


def compile_lines(includes: list[str], body: str) -> str:
    """Return the PTX of a kernel `k(float* o)` with some includes."""
    lines = "".join(f"#include <{name}>\n" for name in includes)
    source = f'{lines}extern "C" __global__ void k(float* o) {{ {body} }}'
    return compile_cuda(source, Path("k.cu"), "compute_75", toolkit_folders()).ptx


def test_all_headers_of_c_can_be_included_together():
    """Each header compiles alone, and all compile together and twice, as in large programs."""
    assert "k" in compile_lines([*PLAIN, *PLAIN], "o[0] = 1;")


@pytest.mark.parametrize(
    ("header", "expression"),
    [
        ("cuda_runtime.h", "INFINITY + M_PI + INT_MAX + (uint32_t)5"),
        ("stdint.h", "(int64_t)UINT32_MAX + (uint8_t)300"),
        ("cfloat", "FLT_MAX + FLT_EPSILON + DBL_MIN"),
        ("climits", "(float)UINT_MAX + LLONG_MIN"),
        ("math_constants.h", "CUDART_INF_F + CUDART_PI_F"),
        ("algorithm", "std::max(1.f, o[1]) + std::min(2, 3)"),
        ("cmath", "std::sqrt(o[1]) + std::abs(-2.f) + M_PI"),
        ("type_traits", "std::is_same<int, int>::value"),
        ("cstdint", "(std::uint16_t)7"),
    ],
)
def test_a_header_gives_its_names(header, expression):
    """A program can use the names that each header defines."""
    assert "st.global" in compile_lines([header], f"o[0] = {expression};")


def test_a_header_of_the_host_has_nothing_for_kernels():
    """A header of the host, such as iostream, may be included; its names are unknown, as are other libraries' files."""
    assert "st.global" in compile_lines(["iostream", "vector", "helper_cuda.h"], "o[0] = 1;")
    with pytest.raises(KernelError, match='namespace "std" has no member "vector"'):
        compile_lines(["vector"], "std::vector<int> v; o[0] = 1;")
    with pytest.raises(KernelError, match=r"nobody\.h"):
        compile_lines(["nobody.h"], "o[0] = 1;")
