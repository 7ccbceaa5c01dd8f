"""A source of a megabyte takes no longer to search than in proportion to its length."""

from pathlib import Path

import pytest

from warploom.engine.diagnostics import KernelError
from warploom.engine.kernel_blocks.comments import kernel_comments
from warploom.engine.kernel_sources.cuda.compiling import find_includes
from warploom.engine.kernel_sources.cuda.waiting import waiting_cuda
from warploom.engine.kernel_sources.element_types.names import parameter_texts
from warploom.engine.kernel_sources.loader import load_image
from warploom.engine.ptx import text as ptx_text
from warploom.engine.ptx.text import code_of, entry_bodies

#: Beginnings whose ends are missing: a search from each of them to the end of the text would take minutes.
PARTS = ["/*x", "__global__ ", "__global__ void k(", "__global__ k(k ", '"\\\n', 'x\\"', "// x\n", "__has_include(<"]
PARTS += [".entry k ", ".entry k("]


@pytest.mark.parametrize("part", PARTS)
def test_a_text_of_beginnings_is_searched_at_once(part: str) -> None:
    """Comments, lists, includes and kernels without an end make no search begin again and again."""
    text = part * (200_000 // len(part))
    code_of(text)
    list(entry_bodies(text))
    kernel_comments(text + "__global__ void k(", "k")
    parameter_texts(text, "k")
    waiting_cuda(text, "sm_90")
    find_includes(text, Path("/k.cu"), [])


def test_ptx_has_a_limited_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """PTX that would take minutes to read is an error with its size."""
    monkeypatch.setattr(ptx_text, "MOST_PTX", 2 << 20)
    (tmp_path / "k.ptx").write_text("//" + " " * (3 << 20))
    with pytest.raises(KernelError, match=r"PTX of k.ptx must have at most 2 MB, got 3.0 MB"):
        load_image(tmp_path / "k.ptx", "compute_90")
