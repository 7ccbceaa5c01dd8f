"""Runs forms on a device, many in a kernel, and sets aside what the device refuses."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from engine.device.protocol import Device, Kernel
from engine.diagnostics import DeviceError, KernelError
from tests.gpu.differential.form import Form
from tests.gpu.differential.kernel import ZONE_WORDS, KernelText, write
from tests.gpu.differential.kinds import Bits

_FORMS_A_KERNEL = 48


@dataclass
class Results:
    """What the forms gave: values of shape (results, lanes) and the zone of shape (64,) of those that have one."""

    values: dict[str, Bits] = field(default_factory=dict)
    zones: dict[str, Bits] = field(default_factory=dict)


class Runner:
    """Runs forms on one device for a fixed number of lanes; compiled kernels are kept from run to run.

    `refused` says why the device cannot run a form, `failed` what went wrong while it ran.
    """

    def __init__(self, device: Device, lanes: int, thread_block: int = 128) -> None:
        self.device, self.lanes, self.thread_block = device, lanes, thread_block
        self.refused: dict[str, str] = {}
        self.failed: dict[str, str] = {}
        self._kernels: dict[tuple[str, ...], tuple[Kernel, KernelText]] = {}

    def run(self, forms: Iterable[Form], inputs: dict[str, Bits], zones: dict[str, Bits]) -> Results:
        """Run forms on their inputs, shape (operands, lanes); forms that the device cannot run are left out."""
        results, groups = Results(), dict[tuple[str, int], list[Form]]()
        for form in forms:
            if form.name not in self.refused and form.name not in self.failed:
                groups.setdefault((form.family, form.thread_block), []).append(form)
        for group in groups.values():
            for first in range(0, len(group), _FORMS_A_KERNEL):
                self._run(group[first : first + _FORMS_A_KERNEL], inputs, zones, results)
        return results

    def _run(self, forms: Sequence[Form], inputs: dict[str, Bits], zones: dict[str, Bits], results: Results) -> None:
        """Run one kernel; when the device does not take it, find out which forms it is and run the others."""
        forms = [form for form in forms if form.name not in self.refused]
        if not forms:
            return
        try:
            kernel, text = self._kernel(forms)
        except KernelError as error:
            self._refuse(forms, text_of(forms, self.lanes), error)
            self._run(forms, inputs, zones, results) if any(form.name in self.refused for form in forms) else self._halve(
                forms, inputs, zones, results, self.refused, error
            )
            return
        except Exception as error:  # noqa: BLE001  # whatever the translator raises is a finding about one of the forms
            self._halve(forms, inputs, zones, results, self.failed, error)
            return
        try:
            self._launch(forms, kernel, text, inputs, zones, results)
        except DeviceError as error:
            if "CUDA_ERROR" in str(error):
                raise  # nothing runs on the GPU any more
            self._halve(forms, inputs, zones, results, self.failed, error)

    def _kernel(self, forms: Sequence[Form]) -> tuple[Kernel, KernelText]:
        key = tuple(form.name for form in forms)
        if key not in self._kernels:
            text = text_of(forms, self.lanes)
            self._kernels[key] = self.device.load_module(text.ptx).kernel("k"), text
        return self._kernels[key]

    def _refuse(self, forms: Sequence[Form], text: KernelText, error: KernelError) -> None:
        """Set aside the forms whose lines the error names."""
        lines = {int(number) for number in re.findall(r"line (\d+)", str(error))} | {error.line or 0}
        for form in forms:
            first, last = text.spans[form.name]
            if any(first <= line <= last for line in lines):
                self.refused[form.name] = str(error).splitlines()[0]

    def _halve(
        self,
        forms: Sequence[Form],
        inputs: dict[str, Bits],
        zones: dict[str, Bits],
        results: Results,
        into: dict[str, str],
        error: Exception,
    ) -> None:
        if len(forms) == 1:
            into[forms[0].name] = f"{type(error).__name__}: {error}"[:300]
            return
        middle = len(forms) // 2
        for half in (forms[:middle], forms[middle:]):
            self._run(half, inputs, zones, results)

    def _launch(
        self,
        forms: Sequence[Form],
        kernel: Kernel,
        text: KernelText,
        inputs: dict[str, Bits],
        zones: dict[str, Bits],
        results: Results,
    ) -> None:
        given = np.concatenate([inputs[form.name].reshape(-1) for form in forms])
        assert given.size == text.values_in * self.lanes
        words = np.concatenate([zones.get(form.name, np.zeros(ZONE_WORDS, np.uint64)) for form in forms])
        arrays = given, np.zeros((max(text.values_out, 1), self.lanes), np.uint64), words
        buffers = [self.device.upload(array) for array in arrays]
        try:
            threads = forms[0].thread_block or self.thread_block
            self.device.launch(kernel, (self.lanes // threads,), (threads,), buffers)
            self.device.synchronize()
            out, words = buffers[1].download(), buffers[2].download()
        finally:
            for buffer in buffers:
                buffer.free()
        place = 0
        for slot, form in enumerate(forms):
            results.values[form.name] = out[place : place + len(form.outputs)]
            place += len(form.outputs)
            if form.zone:
                results.zones[form.name] = words[slot * ZONE_WORDS : (slot + 1) * ZONE_WORDS]


def text_of(forms: Sequence[Form], lanes: int) -> KernelText:
    """Return the kernel of some forms."""
    return write(forms, lanes)
