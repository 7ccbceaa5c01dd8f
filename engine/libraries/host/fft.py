"""Fourier transforms by scipy, which computes in the precision of the elements, as cuFFT does."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy import fft as transforms

from engine.libraries.fft import Fft, InverseRealFft, RealFft

Arrays = Mapping[str, np.ndarray[Any, Any]]
Numbers = Mapping[str, Any]


def _options(call: Fft | RealFft | InverseRealFft) -> dict[str, Any]:
    """Return what all transforms are told; large ones are shared out to the cores."""
    return {"axes": range(-call.axes, 0), "norm": call.norm, "workers": len(os.sched_getaffinity(0))}


def fft(call: Fft, arrays: Arrays, numbers: Numbers) -> None:
    """Transform complex numbers, there or back."""
    transform = transforms.ifftn if call.inverse else transforms.fftn
    arrays["out"][...] = transform(arrays["x"], **_options(call))


def real_fft(call: RealFft, arrays: Arrays, numbers: Numbers) -> None:
    """Transform real numbers to half a spectrum."""
    arrays["out"][...] = transforms.rfftn(arrays["x"], **_options(call))


def inverse_real_fft(call: InverseRealFft, arrays: Arrays, numbers: Numbers) -> None:
    """Transform half a spectrum to real numbers."""
    out = arrays["out"]
    out[...] = transforms.irfftn(arrays["x"], s=out.shape[-call.axes :], **_options(call))


FUNCTIONS = {Fft: fft, RealFft: real_fft, InverseRealFft: inverse_real_fft}
