"""Fourier transforms by scipy, which computes in the precision of the elements, as cuFFT does."""

from __future__ import annotations

from typing import Any

from scipy import fft as transforms

from warploom.engine.libraries.fft import Fft, InverseRealFft, RealFft
from warploom.engine.libraries.host.backend import NamedArrays, NamedNumbers
from warploom.engine.platforms.processor import usable_cores


def _options(call: Fft | RealFft | InverseRealFft) -> dict[str, Any]:
    """Return the common arguments of all transforms; large ones are divided among the cores."""
    return {"axes": range(-call.axes, 0), "norm": call.norm, "workers": usable_cores()}


def fft(call: Fft, arrays: NamedArrays, numbers: NamedNumbers) -> None:
    """Transform complex numbers, forward or back."""
    transform = transforms.ifftn if call.inverse else transforms.fftn
    arrays["out"][...] = transform(arrays["x"], **_options(call))


def real_fft(call: RealFft, arrays: NamedArrays, numbers: NamedNumbers) -> None:
    """Transform real numbers to half a spectrum."""
    arrays["out"][...] = transforms.rfftn(arrays["x"], **_options(call))


def inverse_real_fft(call: InverseRealFft, arrays: NamedArrays, numbers: NamedNumbers) -> None:
    """Transform half a spectrum to real numbers."""
    out = arrays["out"]
    out[...] = transforms.irfftn(arrays["x"], s=out.shape[-call.axes :], **_options(call))


FUNCTIONS = {Fft: fft, RealFft: real_fft, InverseRealFft: inverse_real_fft}
