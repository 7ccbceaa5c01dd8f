"""Names that are offered while code is typed exist."""

import builtins
import keyword
import random
import re
from pathlib import Path

import pytest

from tests.fuzzing import many, seeds
from warploom import api
from warploom.app.view_models.code.checks import Mistake, check_of
from warploom.app.view_models.code.comparison import side_by_side
from warploom.app.view_models.code.cuda_names import KEYWORDS, NAMES
from warploom.app.view_models.code.names import names_at
from warploom.app.view_models.code.places import CodePlace, headers_of
from warploom.engine.diagnostics import Severity
from warploom.engine.kernel_sources.image import KERNELS_FOLDER
from warploom.engine.patch.document import Patch

BLOCKS = KERNELS_FOLDER.parent / "blocks"


def test_every_name_of_cuda_compiles() -> None:
    """The compiler knows each name in the table by its example."""
    uses = "\n".join(f"    {use};" for use in NAMES.values())
    text = (
        "#include <stdint.h>\n"
        'extern "C" __global__ void use(int i, int* pi, unsigned u, float f, float* pf, double d, bool b) {\n'
        f"{uses}\n}}\n"
    )
    found = check_of(Patch(), CodePlace("/names.cuh"))(text)
    assert [each for each in found.mistakes if each.severity is Severity.ERROR] == []


@pytest.mark.parametrize("seed", seeds(2))
def test_offered_names_exist(seed: int) -> None:
    """At random places of our own code, each offered name is in the text, its headers, the language or the API."""
    draw = random.Random(seed)
    files = [*sorted(KERNELS_FOLDER.glob("*.cu")), *sorted(BLOCKS.glob("*/*.py"))]
    files = [path for path in files if path.stat().st_size]
    for _ in range(many(30)):
        path = draw.choice(files)
        text, language = path.read_text(), "cuda" if path.suffix == ".cu" else "python"
        place = draw.randrange(len(text))
        found = names_at(text, place, language, path)
        typed, rest = text[found.start : place], f"{text[: found.start]} {text[place:]}"
        known = {*KEYWORDS, *NAMES, *"xyzw", *keyword.kwlist, *dir(builtins), *api.__all__}
        for owner in (api.Block, api.BlockBuilder, api.BufferHandle):
            known |= set(dir(owner))
        known |= {name for module in api.__all__ for name in dir(getattr(api, module))}
        known |= {other.name for other in (*KERNELS_FOLDER.iterdir(), *path.parent.iterdir())}
        known |= {f"warploom/{header.name}" for header in (KERNELS_FOLDER / "warploom").iterdir()}
        for source in (rest, *(header.read_text() for header in headers_of(path))):
            known |= set(re.findall(r"[A-Za-z_]\w*", source))
        assert set(found.names) <= known, (path.name, place)
        assert all(name.lower().startswith(typed.lower()) for name in found.names), (path.name, place)


def test_nothing_is_offered_in_comments_and_strings() -> None:
    """In a comment and in a string, no names are offered."""
    for text, language in (("// ga", "cuda"), ("/* a\n ga", "cuda"), ("x = 1  # ga", "python"), ('x = "ga', "python")):
        assert names_at(f"float gain;\n{text}", len(text) + 12, language, None).names == ()


def test_python_offers_ports_methods_and_modules() -> None:
    """In a block's file, ports, the builder's methods and imported names are offered, and nothing that is not there."""
    text = (BLOCKS / "arithmetic" / "saxpy.py").read_text()

    def offered(typed: str) -> tuple[str, ...]:
        return names_at(text + typed, len(text + typed), "python", None).names

    assert {"x", "y", "out", "a", "kernel"} <= set(offered("        self."))
    assert offered("        self.out.si") == ("size",)
    assert offered("        build.lau") == ("launch",)
    assert "Kernel" in offered("Ker") and "CudaText" not in offered("Cuda")
    assert "CudaText" in offered("from warploom.api import Cuda")
    assert offered('    kernel = Kernel("saxp') == ("saxpy.cu",)


def test_mistakes_of_python_are_found_without_running_it(tmp_path: Path) -> None:
    """A syntax error has its line; a name that nothing defines is a warning; the code does not run."""
    check = check_of(Patch(), CodePlace(str(tmp_path / "block.py")))
    assert [each.line for each in check("x = 1\ny = (\n").mistakes] == [2]
    unknown = Mistake(2, "name 'nothing' is not defined", Severity.WARNING)
    assert check("def f(a):\n    return a + nothing\n").mistakes == (unknown,)
    assert check(f"open({str(tmp_path / 'made')!r}, 'w')\n").mistakes == () and not (tmp_path / "made").exists()
    for path in sorted(BLOCKS.glob("*/*.py")):
        assert check(path.read_text()).mistakes == (), path


@pytest.mark.parametrize("seed", seeds(3))
def test_two_versions_side_by_side_hold_both_texts(seed: int) -> None:
    """The left sides of the rows are the first text, the right ones the second; equal rows are equal."""
    draw = random.Random(seed)
    for _ in range(many(30)):
        left, right = ([draw.choice("abcd") for _ in range(draw.randrange(12))] for _ in range(2))
        rows = side_by_side("\n".join(left), "\n".join(right))
        assert [row.left for row in rows if row.left is not None] == left
        assert [row.right for row in rows if row.right is not None] == right
        assert all(row.is_changed or row.left == row.right for row in rows)
