"""Random edits of files: any engine of a process computes with the contents that the files have at that time."""

import os
import random
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tests.fuzzing import many, seeds
from tests.kernel_blocks.test_files_as_they_are import TWICE
from tests.waiting import until
from warploom import Engine, Patch
from warploom.engine.patch.changes import PortRef

X = np.arange(1, 38, dtype=np.float32)
GAIN, BIAS = 3.0, 50.0
KERNELS, LINKS, PTX = ("a.cu", "b.cu"), ("link.cu", "linked/a.cu"), "t.ptx"
PICTURE, GREYS = "p.bmp", (0, 255)


@dataclass
class Written:
    """The contents of a folder's files: numbers for correct files, None for wrong or missing ones."""

    folder: Path
    choose: random.Random
    kernels: dict[str, tuple[float, bool] | None] = field(default_factory=dict)
    headers: dict[str, int | None] = field(default_factory=dict)
    links: dict[str, str] = field(default_factory=dict)
    factor: int | None = None
    names: tuple[str, str] = ("a", "b")
    grey: int | None = None

    def begin(self) -> None:
        """Write all files."""
        for folder in ("one", "two"):
            (self.folder / folder).mkdir()
            for name in KERNELS:
                self.write_kernel(f"{folder}/{name}")
            self.write_header(folder)
        for link in LINKS:
            self.point(link)
        self.write_ptx()
        self.write_picture()

    def edit(self, *, watched: bool) -> None:
        """Change one file, link or folder."""
        folder, name = self.choose.choice(("one", "two")), self.choose.choice(KERNELS)
        edits = [
            lambda: self.write_kernel(f"{folder}/{name}"),
            lambda: self.spoil(f"{folder}/{name}"),
            lambda: self.write_header(folder),
            lambda: self.remove_header(folder),
            lambda: self.point(self.choose.choice(LINKS)),
            self.write_ptx,
            self.write_picture,
            self.exchange_folders,
            *([] if watched else [self.write_manifest, self.spoil_ptx]),
        ]
        self.choose.choice(edits)()

    def write_kernel(self, name: str) -> None:
        """Write a kernel with its parameters in random order."""
        times, includes = float(self.choose.randint(1, 9)), self.choose.random() < 0.5
        parameters = ["const float* x", "float* out", "float gain", "float bias", "int count"]
        self.choose.shuffle(parameters)
        self._save(
            name,
            f'{"#include" if includes else "//"} "h.h"\n#ifndef PLUS\n#define PLUS 0\n#endif\n'
            f'extern "C" __global__ void k({", ".join(parameters)}) {{\n'
            "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
            f"    if (i < count) out[i] = gain * x[i] * {times}f + bias + PLUS;\n}}\n",
        )
        self.kernels[name] = times, includes

    def spoil(self, name: str) -> None:
        """Delete a kernel, or replace it by text that is no kernel."""
        if self.choose.random() < 0.5:
            (self.folder / name).unlink(missing_ok=True)
        else:
            self._save(name, self.choose.choice(["", "int x", "what is this"]))
        self.kernels[name] = None

    def write_header(self, folder: str) -> None:
        self.headers[folder] = number = self.choose.randint(1, 9)
        self._save(f"{folder}/h.h", f"#define PLUS {number}\n")

    def remove_header(self, folder: str) -> None:
        self.headers[folder] = None
        (self.folder / folder / "h.h").unlink(missing_ok=True)

    def point(self, link: str) -> None:
        """Point a link to a kernel or to a folder of kernels, possibly to the same one as before."""
        place = self.folder / link.partition("/")[0]
        target = self.choose.choice(("one", "two"))
        self.links[link] = f"{target}/a.cu" if "/" in link else f"{target}/{self.choose.choice(KERNELS)}"
        place.unlink(missing_ok=True)
        place.symlink_to(self.folder / (target if "/" in link else self.links[link]))

    def exchange_folders(self) -> None:
        """Exchange the names of both folders."""
        one, two, between = (self.folder / name for name in ("one", "two", "between"))
        one.rename(between)
        two.rename(one)
        between.rename(two)
        for name in KERNELS:
            first, second = f"one/{name}", f"two/{name}"
            self.kernels[first], self.kernels[second] = self.kernels[second], self.kernels[first]
        self.headers["one"], self.headers["two"] = self.headers["two"], self.headers["one"]

    def write_ptx(self) -> None:
        self.factor = self.choose.choice((2, 3))
        triple = "mul.f32 %f, %f, 0f40400000"
        self._save(PTX, TWICE if self.factor == 2 else TWICE.replace("add.f32 %f, %f, %f", triple))

    def spoil_ptx(self) -> None:
        self._save(PTX, self.choose.choice(["", ".version 7.0", TWICE.replace("add.s64", "add.s63")]))
        self.factor = None

    def write_manifest(self) -> None:
        """Write a manifest that names the ports, or delete it."""
        self.names = self.choose.choice((("a", "b"), ("input", "output"), ("left", "right")))
        if self.names == ("a", "b"):
            (self.folder / "t.json").unlink(missing_ok=True)
            return
        source, target = self.names
        self._save(
            "t.json",
            f'{{"name": "twice", "parameters": [{{"index": 0, "name": "{source}", "direction": "in"}},'
            f'{{"index": 1, "name": "{target}", "direction": "out"}}, {{"index": 2, "name": "count"}}]}}',
        )

    def write_picture(self) -> None:
        self.grey = self.choose.choice(GREYS)
        Image.new("RGB", (9, 5), (self.grey,) * 3).save(self.folder / "p.tmp", format="BMP")
        self._save(PICTURE, (self.folder / "p.tmp").read_bytes())

    def _save(self, name: str, text: str | bytes) -> None:
        """Write a file in one of many ways."""
        data, path = text.encode() if isinstance(text, str) else text, self.folder / name
        if self.choose.random() < 0.5:
            temporary = self.folder / "saved.tmp"
            temporary.write_bytes(data)
            temporary.replace(path)
        else:
            path.write_bytes(data)
        if self.choose.random() < 0.5:
            os.utime(path, ns=(10**18, 10**18))

    @property
    def files(self) -> list[str]:
        """Return the kernel files that nodes name."""
        return [f"{folder}/{name}" for folder in ("one", "two") for name in KERNELS] + [*LINKS, PTX]

    def expected(self, file: str) -> np.ndarray | None:
        """Return the output of a node with this file, or None if the file is wrong."""
        if file == PTX:
            return None if self.factor is None else self.factor * X
        real = self.links.get(file, file)
        kernel, header = self.kernels[real], self.headers[real.partition("/")[0]]
        if kernel is None or (kernel[1] and header is None):
            return None
        times, includes = kernel
        return np.asarray(np.float32(GAIN) * X * np.float32(times) + np.float32(BIAS + (header if includes else 0)))  # type: ignore[operator]


def _node(file: str) -> str:
    return file.replace("/", "_").replace(".", "_")


def _opened(written: Written) -> Patch:
    """Return a patch with a node for each file, connected where the nodes have the ports."""
    patch = Patch()
    x = patch.add("io.array", node_id="x", data=X)
    patch.add("io.load_image", node_id="picture", file=str(written.folder / PICTURE))
    for file in written.files:
        node = patch.add("kernel.file", node_id=_node(file), file=str(written.folder / file))
        block_type = patch.block_type(node.id)
        assert block_type is not None
        if block_type.ports:
            patch.connect(x["out"], node[block_type.inputs()[0].name])
        if "gain" in block_type.parameters:
            patch.set(node, gain=GAIN, bias=BIAS)
    return patch


def _wrong(engine: Engine, written: Written, ran: dict[str, list[np.ndarray]] | None = None) -> str:
    """Return the differences from the files; `ran` are the versions that may continue while a file is wrong."""
    reported = {item.node for item in engine.step().diagnostics}
    for file in written.files:
        node, expected = _node(file), written.expected(file)
        if (node in reported) is not (expected is None):
            return f"{file} must {'be' if expected is None else 'not be'} reported"
        may_be = [expected] if expected is not None else ran[node] if ran is not None else []
        if may_be:
            found = engine.read(PortRef(node, written.names[1] if file == PTX else "out"))
            if not any(np.array_equal(found, version) for version in may_be):
                return f"{file} must compute what it says"
    if not np.all(engine.read(PortRef("picture", "out"))[..., :3] == (written.grey == GREYS[1])):
        return "the picture must be the one in the file"
    return "" if np.array_equal(engine.read(PortRef("x", "out")), X) else "the input must stay as it is"


@pytest.mark.parametrize("seed", seeds(2))
def test_a_patch_that_is_opened_goes_by_what_the_files_hold(tmp_path: Path, seed: int) -> None:
    """A patch that is opened uses the files as they are, even if they are saved before the engine starts."""
    written = Written(tmp_path, random.Random(seed))
    written.begin()
    for _ in range(many(8)):
        written.edit(watched=False)
        patch = _opened(written)
        right = [name for name, kernel in written.kernels.items() if kernel and written.headers[name.partition("/")[0]]]
        if right:
            written.write_kernel(written.choose.choice(right))
        with Engine(patch, "host") as engine:
            assert _wrong(engine, written) == ""


@pytest.mark.parametrize("seed", seeds(2))
def test_an_engine_that_watches_comes_to_what_the_files_hold(tmp_path: Path, seed: int) -> None:
    """After each burst of edits, a watching engine uses the files as they are, or a wrong file's last good version."""
    written = Written(tmp_path, random.Random(seed))
    written.begin()
    with Engine(_opened(written), "host") as engine:
        engine.watch_files()
        ran: dict[str, list[np.ndarray]] = {_node(file): [] for file in written.files}
        for count in (0, *(written.choose.randint(1, 3) for _ in range(many(6)))):
            for index in range(count + 1):
                if index:
                    written.edit(watched=True)
                for file in written.files:
                    if (expected := written.expected(file)) is not None:
                        ran[_node(file)].append(expected)
            until(lambda: not _wrong(engine, written, ran))
            for file in written.files:
                if written.expected(file) is not None:
                    del ran[_node(file)][:-1]
