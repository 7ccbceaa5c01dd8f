"""Runs forms on a device, many in one kernel, and separates those that the device refuses."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from tests.gpu.differential.form import Form
from tests.gpu.differential.kernel import ZONE_WORDS, KernelText, write
from tests.gpu.differential.kinds import Bits
from warploom.engine.device.device import Device
from warploom.engine.device.protocol import LoadedKernel
from warploom.engine.diagnostics import DeviceError, KernelError

# Kernels are small, since LLVM's compile time grows faster than the size of a kernel.
_FORMS_A_KERNEL = 16


@dataclass
class Results:
    """Results of forms: values of shape (results, lanes), and zones of shape (64,) for the forms that have one."""

    values: dict[str, Bits] = field(default_factory=dict)
    zones: dict[str, Bits] = field(default_factory=dict)


@dataclass(frozen=True)
class _Job:
    """Inputs of each form, shape (operands, lanes), initial zones, and the object that receives the results."""

    inputs: dict[str, Bits]
    zones: dict[str, Bits]
    results: Results


class Runner:
    """Runs forms on one device for a fixed number of lanes, and keeps compiled kernels between runs.

    `refused` has the reasons why the device can't run a form, `failed` has other errors.
    """

    def __init__(self, device: Device, lanes: int, thread_block: int = 128, *, vectorised: bool = True) -> None:
        self.device, self.lanes, self.thread_block, self.vectorised = device, lanes, thread_block, vectorised
        self.refused: dict[str, str] = {}
        self.failed: dict[str, str] = {}
        self._kernels: dict[tuple[str, ...], tuple[LoadedKernel, KernelText]] = {}

    def run(self, forms: Iterable[Form], inputs: dict[str, Bits], zones: dict[str, Bits]) -> Results:
        """Run forms on inputs of shape (operands, lanes), and skip forms that the device can't run."""
        job = _Job(inputs, zones, Results())
        for group in self._groups(forms):
            self._run(group, job)
        return job.results

    def texts(self, forms: Iterable[Form]) -> list[str]:
        """Return the PTX of the kernels that `run` loads first."""
        return [self._write(group).ptx for group in self._groups(forms)]

    def _groups(self, forms: Iterable[Form]) -> list[list[Form]]:
        """Group forms into kernels; the forms of a kernel share a family and a thread block size."""
        families = dict[tuple[str, int], list[Form]]()
        for form in forms:
            if form.name not in self.refused and form.name not in self.failed:
                families.setdefault((form.family, form.thread_block), []).append(form)
        return [
            group[first : first + _FORMS_A_KERNEL]
            for group in families.values()
            for first in range(0, len(group), _FORMS_A_KERNEL)
        ]

    def _write(self, forms: Sequence[Form]) -> KernelText:
        return write(forms, self.lanes, vectorised=self.vectorised)

    def _run(self, forms: Sequence[Form], job: _Job) -> None:
        """Run one kernel. If the device refuses it, find the forms at fault and run the others."""
        try:
            kernel, text = self._kernel(forms)
        except KernelError as error:
            named = self._named(forms, error)
            self.refused |= dict.fromkeys(named, str(error).splitlines()[0])
            if not named:
                self._halve(forms, job, error)
            elif rest := [form for form in forms if form.name not in named]:
                self._run(rest, job)
            return
        except Exception as error:  # noqa: BLE001  # any error of the translator is a result of the test
            self._halve(forms, job, error)
            return
        try:
            self._launch(forms, kernel, text, job)
        except DeviceError as error:
            if "CUDA_ERROR" in str(error):
                raise  # the GPU can't be used after such an error
            self._halve(forms, job, error)

    def _kernel(self, forms: Sequence[Form]) -> tuple[LoadedKernel, KernelText]:
        key = tuple(form.name for form in forms)
        if key not in self._kernels:
            text = self._write(forms)
            self._kernels[key] = self.device.load_module(text.ptx).kernel("k"), text
        return self._kernels[key]

    def _named(self, forms: Sequence[Form], error: KernelError) -> set[str]:
        """Return the forms whose lines the error message names."""
        lines = {int(number) for number in re.findall(r"line (\d+)", str(error))} | {error.line or 0}
        spans = self._write(forms).spans
        return {name for name, (first, last) in spans.items() if any(first <= line <= last for line in lines)}

    def _halve(self, forms: Sequence[Form], job: _Job, error: Exception) -> None:
        """Run each half of the forms, to isolate the form at fault."""
        if len(forms) == 1:
            self.failed[forms[0].name] = f"{type(error).__name__}: {error}"[:300]
            return
        middle = len(forms) // 2
        for half in (forms[:middle], forms[middle:]):
            self._run(half, job)

    def _launch(self, forms: Sequence[Form], kernel: LoadedKernel, text: KernelText, job: _Job) -> None:
        given = np.concatenate([job.inputs[form.name].reshape(-1) for form in forms])
        assert given.size == text.values_in * self.lanes
        words = np.concatenate([job.zones.get(form.name, np.zeros(ZONE_WORDS, np.uint64)) for form in forms])
        threads = forms[0].thread_block or self.thread_block
        shape = max(text.values_out, 1), self.lanes
        out, words = launch(self.device, kernel, self.lanes, threads, given, shape, words)
        place = 0
        for slot, form in enumerate(forms):
            job.results.values[form.name] = out[place : place + len(form.outputs)]
            place += len(form.outputs)
            if form.zone:
                job.results.zones[form.name] = words[slot * ZONE_WORDS : (slot + 1) * ZONE_WORDS]


def launch(
    device: Device, kernel: LoadedKernel, lanes: int, threads: int, given: Bits, shape: tuple[int, int], zones: Bits
) -> tuple[Bits, Bits]:
    """Run a kernel with `threads` threads per thread block; return its values, of the given shape, and its zones."""
    buffers = [device.upload(array) for array in (given, np.zeros(shape, np.uint64), zones)]
    try:
        device.launch(kernel, (lanes // threads,), (threads,), buffers)
        device.synchronize()
        return buffers[1].download(), buffers[2].download()
    finally:
        for buffer in buffers:
            buffer.free()
