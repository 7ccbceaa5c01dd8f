"""Rules for agreement: the same bits, with all NaNs equal, or within the PTX manual's error bound."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tests.gpu.differential.kinds import FORMATS, Bits, Floats, Kind, decode, is_nan, split

Mask = np.ndarray[Any, np.dtype[np.bool_]]

# An H200 exceeds the manual's bound of cos by 4 %, and of tanh.bf16 by 0.01 %.
_GPU_SLACK = 1.25


@dataclass(frozen=True)
class Verdict:
    """Which lanes agree, and the largest error of each device as a fraction of the bound (0 for exact rules)."""

    agrees: Mask
    host_error: float = 0.0
    device_error: float = 0.0


@dataclass(frozen=True)
class Rule:
    """The results must have the same bits. With `any_nan`, two NaNs agree; packed numbers are compared one by one."""

    any_nan: bool = False

    def judge(self, kind: Kind, inputs: list[Floats], host: Bits, device: Bits) -> Verdict:
        """Compare the results of one output; `inputs` are the operands as numbers of shape (elements, lanes)."""
        same = host == device
        if self.any_nan and kind.format:
            pairs = zip(split(host, kind), split(device, kind), strict=True)
            either = [(h == d) | (is_nan(h, kind.format) & is_nan(d, kind.format)) for h, d in pairs]
            same = np.logical_and.reduce(either)
        return Verdict(same)


EXACT = Rule()
NUMBER = Rule(any_nan=True)


@dataclass(frozen=True)
class Approximate(Rule):
    """The host must be within the manual's bound of the true value in float64, and a GPU within 1.25 times that bound.

    The bound is `relative` times the true value, plus `absolute`, plus the format's smallest subnormal number, or with
    `ftz` its smallest normal one. If the true value is NaN, infinite or zero, both devices must give the same result.
    """

    any_nan: bool = True
    true: Callable[..., Floats] = field(default=np.sqrt)
    relative: float = 0.0
    absolute: float = 0.0
    ftz: bool = False

    def judge(self, kind: Kind, inputs: list[Floats], host: Bits, device: Bits) -> Verdict:
        """Compare both devices with the true value."""
        form = FORMATS[kind.format]
        least, smallest_normal = 2.0 ** (1 - form.bias - form.mantissa), 2.0 ** (1 - form.bias)
        greatest = float(decode(np.array([form.infinity - 1], np.uint64), kind.format)[0])
        agrees = np.ones(host.shape, np.bool_)
        worst = [0.0, 0.0]
        for index, sides in enumerate(zip(split(host, kind), split(device, kind), strict=True)):
            with np.errstate(all="ignore"):
                true = self.true(*(item[min(index, len(item) - 1)] for item in inputs))
                bound = self.relative * np.abs(true) + self.absolute + (smallest_normal if self.ftz else least)
                same = (sides[0] == sides[1]) | (is_nan(sides[0], kind.format) & is_nan(sides[1], kind.format))
                judged = np.isfinite(true) & (true != 0)
                fits = np.ones(host.shape, np.bool_)
                for side, bits in enumerate(sides):
                    value = decode(bits, kind.format)
                    over = (
                        np.isinf(value) & (np.abs(true) + bound >= greatest) & (np.signbit(value) == np.signbit(true))
                    )
                    error = np.where(over, 0.0, np.abs(value - true))
                    fits &= error <= bound * (_GPU_SLACK if side else 1)
                    shares = np.where(judged, error / bound, 0.0)
                    worst[side] = max(worst[side], float(np.nan_to_num(shares, nan=np.inf).max(initial=0.0)))
            agrees &= np.where(judged, fits | same, same)
        return Verdict(agrees, *worst)
