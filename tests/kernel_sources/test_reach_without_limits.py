"""A compiler that can't be kept from opening files compiles only sources that name none (Windows)."""

from pathlib import Path

import pytest

from tests.platforms.systems import pretend
from warploom.engine.kernel_sources.cuda import closed
from warploom.engine.kernel_sources.cuda.closed import included_names
from warploom.engine.kernel_sources.cuda.errors import UnreadableHeader
from warploom.engine.kernel_sources.cuda.nvrtc import compile_cuda

KERNEL = 'extern "C" __global__ void k(float* out) { out[0] = 1; }\n'


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('#include "a.h"\n', ("a.h", 1)),
        ("\n # include <b.h> // why\n", ("b.h", 2)),
        ("#define H <c.h>\n#include H\n", ("H", 2)),
        ("x\n#inc\\\nlude \"d.h\"\n", ("d.h", 2)),
        ("x\n#inc\\  \n\\\nlude <d.h>\n", ("d.h", 2)),
        ("#/* a\n comment */include <e.h>\n", ("e.h", 1)),
        ("%:include <f.h>\n", ("f.h", 1)),
        ("??=inc??/\nlude <g.h>\n", ("g.h", 1)),
        ('const char* s = "/*";\n#include "h.h"\n"*/"\n', ("h.h", 2)),
        ("#embed </etc/passwd> limit(4)\n", ("</etc/passwd> limit(4)", 1)),
        ("#include_next <i.h>\n", ("i.h", 1)),
        ("#import <j.h>\n", ("j.h", 1)),
        ("#\r\f\vinclude <k.h>\n", ("k.h", 1)),
        ("#include\n", ("", 1)),
    ],
)  # fmt: skip
def test_every_way_to_read_a_file_is_found(text: str, found: tuple[str, int]) -> None:
    """A directive that reads a file is found, however it is written."""
    assert list(included_names(text)) == [found]


def test_other_directives_read_nothing() -> None:
    """Macros, conditions and pragmas are no includes."""
    assert not list(included_names("#define included 1\n#if included\n#pragma unroll\n#endif\n#line 3\n" + KERNEL))


def test_only_headers_that_were_brought_are_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a limit of open files, a closed compile takes headers that it was given, and refuses others by name."""
    monkeypatch.setattr(closed, "can_refuse_files", lambda: False)
    pretend(monkeypatch, "win32")
    headers = {"near.h": "#define NEAR 2\n"}
    source = f'#include "near.h"\n{KERNEL}'.replace("= 1", "= NEAR")
    assert "k" in compile_cuda(source, Path("k.cu"), "compute_90", (), headers=headers, is_closed=True).ptx
    with pytest.raises(UnreadableHeader, match=r'k\.cu\(1\): cannot open source file "/etc/passwd"') as refused:
        compile_cuda(f"#include </etc/passwd>\n{KERNEL}", Path("k.cu"), "compute_90", (), is_closed=True)
    assert refused.value.name == "/etc/passwd"
    with pytest.raises(UnreadableHeader, match=r"near\.h\(1\)"):
        compile_cuda(source, Path("k.cu"), "compute_90", (), headers={"near.h": "#include FAR\n"}, is_closed=True)
