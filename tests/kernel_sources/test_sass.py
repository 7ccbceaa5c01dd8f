"""SASS of op graphs, from the programs of the CUDA toolkit; without them, one message says what to install."""

import os
import sys
from pathlib import Path

import pytest

from warploom.app.view_models.ops.kernel_code import sass_listing
from warploom.engine.diagnostics import KernelError
from warploom.engine.kernel_sources import op_graphs, sass
from warploom.engine.kernel_sources.sass import disassemble, find_tool, graph_sass
from warploom.engine.kernel_sources.sources import OpGraphSource
from warploom.engine.ops import OpGraphBuilder

#: The output of nvdisasm for a small kernel.
PRINTED = """\t.target\tsm_90

\t.elftype\t@"ET_EXEC"


//--------------------- .text.kernel              --------------------------
\t.section\t.text.kernel,"ax",@progbits
\t.align\t128
        .global         kernel
        .size           kernel,(.L_x_5 - kernel)
kernel:
.text.kernel:
        /*0000*/                   LDC R1, c[0x0][0x28] ;
.L_x_3:
        /*0070*/               @P0 EXIT ;
\t//## File "ops", line 1
        /*0080*/                   LDG.E R8, desc[UR4][R2.64] ;
\t//## File "ops", line 3
        /*0090*/              @!P0 BRA `(.L_x_3) ;
\t//## File "ops", line 2 inlined at "other", line 9
        /*00a0*/                   FMUL R4, R8.reuse, 0.63661974668502807617 ;
\t//## File "ops", line 0
        /*00b0*/                   EXIT ;
.L_x_4:
        /*00c0*/                   BRA `(.L_x_4);
\t//## File "ops", line 2
        .type           $slow_path,@function
$slow_path:
        /*00d0*/               @P0 RET.REL.NODEC R8 `(kernel) ;
        /*00e0*/                   NOP;
        /*00f0*/                   NOP;
.L_x_5:
"""


def _is_installed() -> bool:
    try:
        return bool(find_tool("ptxas") and find_tool("nvdisasm"))
    except KernelError:
        return False


def _source() -> OpGraphSource:
    """Return sqrt(x) * amount."""
    g = OpGraphBuilder()
    x, amount = g.add("op.input", "x"), g.add("op.parameter", "amount", default=2.0)
    times = g.add("op.multiply", "times", a=g.add("op.sqrt", "root", x=x["value"])["out"], b=amount["out"])
    g.add("op.output", "out", value=times["out"])
    return OpGraphSource.of(g.graph())


def _program(folder: Path, name: str, body: str) -> Path:
    """Write a Python program that replaces a program of the toolkit."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text(f"#!{sys.executable}\nimport sys\n{body}\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def nowhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Hide all toolkits: none is in the environment or in packages; return the only folder of PATH, which is empty."""
    for name in ("CUDA_HOME", "CUDA_PATH"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "path"))
    monkeypatch.setattr(sass, "_package_folders", lambda: iter(()))
    monkeypatch.setattr(sass, "USUAL_FOLDER", tmp_path / "usual")
    return tmp_path / "path"


def test_programs_are_looked_for_in_order(nowhere: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Programs are taken from the person's own toolkit first, then the PATH, packages, and the usual folder."""
    monkeypatch.setattr(sass, "_package_folders", lambda: iter([tmp_path / "package"]))
    monkeypatch.setenv("CUDA_PATH", str(tmp_path / "home"))
    for folder in (tmp_path / "usual", tmp_path / "package", nowhere, tmp_path / "home" / "bin"):
        made = _program(folder, "ptxas", "")
        assert find_tool("ptxas") == str(made)


def test_packages_that_bring_the_programs_are_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Programs are found in NVIDIA's wheels, in nvidia/cu13/bin."""
    made = _program(tmp_path / "nvidia" / "cu13" / "bin", "warploom-test-tool", "")
    monkeypatch.syspath_prepend(str(tmp_path))
    for name in [name for name in sys.modules if name.partition(".")[0] == "nvidia"]:
        monkeypatch.delitem(sys.modules, name)
    assert find_tool("warploom-test-tool") == str(made)


def test_a_missing_program_is_one_sentence_that_says_what_to_install(nowhere: Path) -> None:
    """A missing program is reported with the command that installs it, ptxas before nvdisasm."""
    with pytest.raises(
        KernelError, match=r"ptxas of the CUDA toolkit must be installed .* pip install 'cuda-toolkit\["
    ):
        graph_sass(_source(), "sm_90")
    _program(nowhere, "ptxas", "")
    with pytest.raises(KernelError, match="nvdisasm of the CUDA toolkit must be installed"):
        graph_sass(_source(), "sm_90")


def test_instructions_keep_their_ops(nowhere: Path) -> None:
    """Sections and directives are removed, labels stay, and each instruction has the op of its line in the PTX."""
    _program(nowhere, "ptxas", "assert '-arch=sm_90' in sys.argv and '-lineinfo' in sys.argv")
    _program(nowhere, "nvdisasm", f"print({PRINTED!r})")
    kernel = op_graphs.told_kernel(_source(), 4)
    listing = sass_listing(kernel, graph_sass(_source(), "compute_90"))
    found = [(line.split(), op) for line, op in zip(listing.lines, listing.ops, strict=True)][1:]
    first, second, third = kernel.ops[:3]
    assert found == [
        (["kernel:"], ""),
        (["/*0000*/", "LDC", "R1,", "c[0x0][0x28]", ";"], ""),
        ([".L_x_3:"], ""),
        (["/*0070*/", "@P0", "EXIT", ";"], ""),
        (["/*0080*/", "LDG.E", "R8,", "desc[UR4][R2.64]", ";"], first),
        (["/*0090*/", "@!P0", "BRA", "`(.L_x_3)", ";"], third),
        (["/*00a0*/", "FMUL", "R4,", "R8.reuse,", "0.63661974668502807617", ";"], second),
        (["/*00b0*/", "EXIT", ";"], ""),
        ([".L_x_4:"], ""),
        (["/*00c0*/", "BRA", "`(.L_x_4)", ";"], ""),
        (["$slow_path:"], ""),
        (["/*00d0*/", "@P0", "RET.REL.NODEC", "R8", "`(kernel)", ";"], ""),
    ]
    assert listing.lines[0].startswith(f"// sm_90, by {nowhere / 'ptxas'}")


def test_what_a_program_says_is_told(nowhere: Path) -> None:
    """A failing program is reported with its message, or its status if there is none; so is a file that can't run."""
    _program(nowhere, "nvdisasm", "")
    _program(nowhere, "ptxas", "sys.exit('ptxas fatal: Value sm_12 is not defined')")
    with pytest.raises(
        KernelError, match="ptxas must accept the kernel to show its SASS, got: ptxas fatal: Value sm_12"
    ):
        disassemble("", "sm_12")
    _program(nowhere, "ptxas", "sys.exit(7)")
    with pytest.raises(KernelError, match="got: status 7"):
        disassemble("", "sm_90")
    (nowhere / "ptxas").write_bytes(b"\x7fELF")
    with pytest.raises(KernelError, match="ptxas must run to show SASS"):
        disassemble("", "sm_90")


@pytest.mark.skipif(not _is_installed(), reason="needs ptxas and nvdisasm of the CUDA toolkit")
@pytest.mark.parametrize("architecture", ["sm_75", "sm_90", "compute_90"])
def test_the_toolkit_makes_sass_whose_instructions_belong_to_their_ops(architecture: str) -> None:
    """Loads belong to the input, stores to the output, the reciprocal root to the root, and products to either op."""
    source = _source()
    kernel = op_graphs.told_kernel(source, 4)
    listing = sass_listing(kernel, graph_sass(source, architecture))
    where: dict[str, set[str]] = {}
    for line, op in zip(listing.lines, listing.ops, strict=True):
        for mnemonic in ("LDG", "STG", "MUFU", "FMUL"):
            if mnemonic in line and op:  # instructions of a function that ops share have no op
                where.setdefault(mnemonic, set()).add(op)
    assert where["LDG"] == {"x"} and where["STG"] == {"out"} and where["MUFU"] == {"root"}
    assert "times" in where["FMUL"] <= {"root", "times"}
    assert not any(".loc" in line or "##" in line for line in listing.lines)
    assert os.linesep not in "".join(listing.lines)
