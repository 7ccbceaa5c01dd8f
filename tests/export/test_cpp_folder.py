"""The folder of `warploom export --cpp` builds without CUDA, and its program reads the plan."""

import ctypes
import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from warploom import Patch
from warploom.engine.export.cpp_folder import cpp_folder
from warploom.engine.export.graph_data import GraphData
from warploom.engine.export.standalone import exported_graph

FAKE_DRIVER = Path(__file__).with_name("fake_driver.cpp")


def build(graph: GraphData, folder: Path) -> Path:
    """Write the folder of a graph, build its program with warnings as errors, and return the program."""
    if not (shutil.which("cmake") and shutil.which("g++")):
        pytest.skip("cmake and g++ must be installed")
    folder.mkdir()
    for name, data in cpp_folder(graph).items():
        (folder / name).write_bytes(data)
    flags = "-DCMAKE_CXX_FLAGS=-Wall -Wextra -Werror"
    for words in (
        ["-S", folder, "-B", folder / "build", flags, "-DCMAKE_BUILD_TYPE=Debug"],
        ["--build", folder / "build"],
    ):
        found = subprocess.run(["cmake", *words], capture_output=True, text=True)
        assert found.returncode == 0, found.stdout + found.stderr
    return folder / "build" / "run"


def test_the_program_builds_the_graph_of_the_plan(tmp_path: Path) -> None:
    """With a driver that prints launches, the program launches the kernels with the plan's contents and parameters.

    It saves outputs that numpy loads, names the parameters where one is unknown, and says where there is no driver.
    """
    patch = Patch()
    array = patch.add("io.array", data=np.arange(1, 34, dtype=np.float32))
    loop = patch.add("control.while")
    saxpy = patch.add("math.saxpy", region=loop, a=3.0)
    patch.connect(array["out"], loop["condition"])
    for port in ("x", "y"):
        patch.connect(array["out"], saxpy[port])
    program = build(exported_graph(patch), tmp_path / "cpp")
    driver = tmp_path / "libcuda.so.1"
    words = ["g++", "-std=c++17", "-shared", "-fPIC", f"-I{program.parents[1]}", FAKE_DRIVER, "-o", driver]
    subprocess.run(words, check=True)

    def run(*words: str, fake: bool = True) -> "subprocess.CompletedProcess[str]":
        environment = os.environ | ({"LD_LIBRARY_PATH": str(tmp_path)} if fake else {})
        return subprocess.run([program, program.parents[1], *words], env=environment, capture_output=True, text=True)

    found = run("--frames", "2", "--set", "saxpy.a=0.5", "--out", str(tmp_path))
    one = "kernel 1,1,1 1,1,1 0 x[0]=0 a=0\n"  # sets the condition
    frame = f"{one}while with 1 bodies\nkernel 1,1,1 256,1,1 0 x[0]=1 a=0.5\n{one}"
    ends = "saxpy.out <f4 (33,)\nwhile.turns <u4 (1,)\n"
    assert (found.returncode, found.stdout, found.stderr) == (0, f"{frame}{frame}{ends}", "")
    np.testing.assert_array_equal(np.load(tmp_path / "saxpy.out.npy"), np.zeros(33, np.float32))  # nothing ran
    assert "kernel 1,1,1 256,1,1 0 x[0]=1 a=3\n" in run("--frames", "1").stdout
    wrong = {
        "no=1": "parameter must be one of saxpy.a, while.limit, got no",
        "saxpy.a=1e39": "value of saxpy.a must fit in 32 bits",
        "saxpy.a=x": "value must be a number, got x",
        "saxpy.a": "--set must be NODE.PARAM=VALUE, got saxpy.a",
    }
    for setting, message in wrong.items():
        found = run("--set", setting)
        assert (found.returncode, found.stderr) == (1, f"error: {message}\n")
    plan = program.parents[1] / "plan.txt"
    text = plan.read_text()
    (line,) = (line for line in text.splitlines() if line.startswith("kernel\tsaxpy\t"))
    fields = line.split("\t")
    fields[6], fields[10] = "2,1,1", "1"  # a grid whose thread blocks wait for each other
    plan.write_text(text.replace(line, "\t".join(fields)))
    waits = "thread blocks on this GPU, since they wait for each other, got 2"
    assert run().stderr == f"error: grid of kernel saxpy must have at most 1 {waits}\n"
    found = run("--help", fake=False)
    assert (found.returncode, found.stdout.startswith("usage: run [FOLDER] [--frames N]"), found.stderr) == (
        0,
        True,
        "",
    )
    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError:
        found = run(fake=False)
        assert found.stderr == "error: a CUDA driver must be installed, got none on this machine\n"
