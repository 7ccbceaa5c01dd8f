from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from warploom.api import Block, BlockBuilder, Out, f32, param, port

#: Choices of `part`.
PARTS = ("all", "training", "test")
_FILE = Path(__file__).parents[2] / "resources" / "media" / "digits.npz"


class Digits(Block, id="tensor.digits", tags=("dataset", "mnist", "handwriting", "scikit-learn", "classify", "data")):
    """Outputs pictures of handwritten digits and their labels.

    The 1797 pictures of 8 x 8 pixels are the test set of the UCI Machine Learning Repository's "Optical Recognition of
    Handwritten Digits" (E. Alpaydin and C. Kaynak, 1998, CC BY 4.0). They are shuffled and divided into two parts:
    train a network with the part "training", and test it with "test".
    """

    images: Out[f32] = port(shape="data", rank=2, doc="One picture per row, 8 x 8 pixels from 0 to 1, shape [n, 64].")
    targets: Out[f32] = port(shape="data", rank=2, doc="1 in the column of the digit, else 0, shape [n, 10].")
    part: str = param("all", choices=PARTS, structural=True, doc="Part of the digits to output.")
    test_share: float = param(0.2, min=0.05, max=0.95, structural=True, doc="Share of the digits in the test part.")
    seed: int = param(0, min=0, max=2**31 - 1, structural=True, doc="Start of the random sequence for shuffling.")

    def describe(self, build: BlockBuilder) -> None:
        """Provide contents, which are uploaded once and need no work in a frame."""
        images, numbers = load_digits()
        order = np.random.default_rng(self.seed).permutation(len(numbers))
        tests = round(len(order) * self.test_share)
        chosen = {"all": order, "training": order[tests:], "test": order[:tests]}[self.part]
        build.provide(self.images, images[chosen])
        build.provide(self.targets, np.eye(10, dtype=np.float32)[numbers[chosen]])


@cache
def load_digits() -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Return the pictures, f32[1797, 64] from 0 to 1, and their digits."""
    with np.load(_FILE) as data:
        return (data["images"].reshape(-1, 64) / 16).astype(np.float32), data["digits"].astype(np.int64)
