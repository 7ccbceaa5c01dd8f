"""Compile the C runtime of the host device to LLVM text: `python tools/make_host_runtime.py [CLANG]`.

Writes engine/host_compiler/runtime/runtime.ll, which is committed and shipped: users need no compiler. The
text says nothing of the machine that it was made on, since it becomes part of modules for any processor.
"""

import re
import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).parents[1] / "engine/host_compiler/runtime"
OUTPUT = FOLDER / "runtime.ll"
CLANG = "clang-22"
#: Vectors and unrolled loops are left to the compiler of the kernels, which knows the processor.
FLAGS = (
    *("--target=x86_64-linux-gnu", "-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror", "-Wno-unused-parameter"),
    *("-ffp-contract=off", "-fno-strict-aliasing", "-fno-vectorize", "-fno-slp-vectorize", "-fno-unroll-loops"),
    *("-Xclang", "-no-enable-noundef-analysis", "-mllvm", "-indvars-widen-indvars=false"),
)

_ATTRIBUTES = re.compile(r"^attributes (#\d+) = \{ (.*) \}$", re.M)


def version(clang: str = CLANG) -> str:
    """Return a compiler's version. Raise OSError if there is no such program."""
    text = subprocess.run([clang, "--version"], check=True, capture_output=True, text=True).stdout
    found = re.search(r"version (\d+\.\d+\.\d+)", text)
    return found[1] if found else ""


def compiled(clang: str = CLANG) -> str:
    """Return the contents of runtime.ll."""
    items: dict[str, None] = {}
    for path in sorted(FOLDER.glob("*.c")):
        command = [clang, *FLAGS, "-S", "-emit-llvm", "-o", "-", str(path)]
        items |= dict.fromkeys(_portable(subprocess.run(command, check=True, capture_output=True, text=True).stdout))
    head = (
        f"; Made by tools/make_host_runtime.py from the C files of this folder with clang {version(clang)}:\n"
        f"; clang {' '.join(FLAGS)} -S -emit-llvm\n"
        "; Attributes of the target are taken away, and every function is called wl.NAME."
    )
    return "\n\n".join([head, *items]) + "\n"


def _portable(text: str) -> list[str]:
    """Return the types and functions of a module, each text complete in itself and free of the target."""
    attributes = {
        name: " ".join(item for item in re.sub(r'"[^"]*"(="[^"]*")?', "", content).split() if item != "uwtable")
        for name, content in _ATTRIBUTES.findall(text)
    }
    text = re.sub(r"^(?:;|source_filename|target |attributes |!).*\n", "", text, flags=re.M)
    text = re.sub(r" ?(#\d+)", lambda match: f" {attributes[match[1]]}" if attributes[match[1]] else "", text)
    text = re.sub(
        r", !llvm\.loop !\d+| *; preds = .*|(?:dso_local|local_unnamed_addr) | local_unnamed_addr$",
        "",
        text,
        flags=re.M,
    )
    text = re.sub(r"^define (?:internal )?", "define internal ", text, flags=re.M)
    own = "|".join({"wl_\\w+", *re.findall(r"^define .*?@(\w+)\(", text, re.M)})
    text = re.sub(rf"@(?:{own})\b", lambda match: "@wl." + match[0].removeprefix("@").removeprefix("wl_"), text)
    # What other files define needs no declaration, nor do LLVM's own functions.
    text = re.sub(r"^declare .*@(?:wl|llvm)\..*\n", "", text, flags=re.M)
    return re.split(r"\n+(?=define |declare |%)", text.strip())


if __name__ == "__main__":
    OUTPUT.write_text(compiled(*sys.argv[1:]))
