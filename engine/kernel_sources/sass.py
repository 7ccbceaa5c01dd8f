"""SASS, the machine code of NVIDIA's GPUs, made from PTX by programs of the CUDA toolkit. No GPU is needed."""

import importlib.util
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

from warploom.engine.diagnostics import KernelError
from warploom.engine.kernel_sources import op_graphs
from warploom.engine.kernel_sources.sources import OpGraphSource

INSTALL = "pip install 'cuda-toolkit[nvcc,nvdisasm]==13.*'"
#: The folder where the toolkit's installer puts the programs.
USUAL_FOLDER = Path("/usr/local/cuda/bin")
#: The time limit in seconds, longer than the toolkit takes for the largest kernels.
_LIMIT_S = 120
#: An instruction, a label, or the source line of the instructions below it.
_CODE = re.compile(r"\s*(?:/\*([0-9a-f]{4,})\*/\s+(@!?\w+)?\s*(\S.*?)\s*;|([.$\w]+:)|//## File .*?\bline (\d+)).*")


def find_tool(name: str) -> str:
    """Return the path of a program of the CUDA toolkit. Raise a KernelError that says how to install it.

    The search covers the toolkit of CUDA_HOME or CUDA_PATH, the PATH, Python packages and /usr/local/cuda.
    """
    homes = [os.environ[variable] for variable in ("CUDA_HOME", "CUDA_PATH") if os.environ.get(variable)]
    places = [*(Path(home) / "bin" for home in homes), *map(Path, os.get_exec_path()), *_package_folders()]
    found = shutil.which(name, path=os.pathsep.join(map(str, [*places, USUAL_FOLDER])))
    if found is None:
        raise KernelError(f"{name} of the CUDA toolkit must be installed to show SASS, got none: {INSTALL}")
    return found


def _package_folders() -> Iterator[Path]:
    """Yield the folders where Python packages put toolkit programs: NVIDIA's own packages and Triton."""
    for package, pattern in (("nvidia", "*/bin"), ("triton", "backends/nvidia/bin")):
        spec = importlib.util.find_spec(package)
        for folder in (spec.submodule_search_locations or []) if spec is not None else []:
            yield from sorted(Path(folder).glob(pattern), reverse=True)


def graph_sass(source: OpGraphSource, architecture: str) -> str:
    """Return an op graph's SASS as a GPU runs it, with `.loc` lines as in its PTX.

    Raise KernelError when there is none.

    `architecture` is a device's; the host's "compute_90" stands for "sm_90".
    """
    return disassemble(op_graphs.told_kernel(source, 4).inlined_ptx(), architecture.replace("compute_", "sm_"))


def disassemble(ptx: str, architecture: str) -> str:
    """Return the SASS that ptxas makes of PTX, one instruction per line, with the `.loc` numbers of the PTX.

    Raise KernelError when ptxas or nvdisasm is not installed, or refuses the PTX.
    """
    assembler, disassembler = find_tool("ptxas"), find_tool("nvdisasm")
    with tempfile.TemporaryDirectory(prefix="warploom-sass-") as folder:
        text, binary = Path(folder) / "kernel.ptx", Path(folder) / "kernel.cubin"
        text.write_text(ptx, encoding="utf-8", newline="\n")
        _run(assembler, f"-arch={architecture}", "-lineinfo", "-o", str(binary), str(text))
        listing = _run(disassembler, "-c", "-g", str(binary))
    lines = [f"// {architecture}, by {assembler}; the driver's own compiler may choose other instructions"]
    for found in filter(None, map(_CODE.fullmatch, listing.splitlines())):
        offset, guard, instruction, label, line = found.groups()
        if label and not label.startswith(".L"):  # the label of a function, which its section shows too
            lines += ["\t.loc 1 0 ", *([] if label.startswith(".") else [label])]
        elif line:
            lines.append(f"\t.loc 1 {line} ")
        else:
            lines.append(label or f"\t/*{offset}*/ {guard or '':>5} {instruction} ;")
    while lines[-1].endswith((" NOP ;", ":")):  # padding of the last cache line
        lines.pop()
    return "\n".join(lines)


def _run(*command: str) -> str:
    """Return a program's output. Raise KernelError with its message when it fails."""
    name = Path(command[0]).name
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=_LIMIT_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as problem:
        raise KernelError(f"{name} must run to show SASS, got: {problem}") from None
    if done.returncode:
        message = (done.stderr or done.stdout).strip() or f"status {done.returncode}"
        raise KernelError(f"{name} must accept the kernel to show its SASS, got: {message}")
    return done.stdout
