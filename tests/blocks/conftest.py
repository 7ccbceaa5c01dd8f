"""Fixtures of the block tests: a photograph, and a function that runs one block."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from matplotlib import cbook
from PIL import Image

from tests.blocks.running import WHOLE
from warploom import Engine, Patch
from warploom.blocks.io.colour_spaces import srgb_to_linear
from warploom.engine.types import Array

Apply = Callable[..., Array]


@pytest.fixture(scope="session")
def photograph() -> Array:
    """A real photograph, linear RGB, of odd size."""
    with Image.open(str(cbook.get_sample_data("grace_hopper.jpg", asfileobj=False))) as file:
        pixels = np.asarray(file.convert("RGB"))
    return srgb_to_linear(pixels[40:301, 60:271] / 255.0)


@pytest.fixture
def apply_to_image() -> Apply:
    """Run one image block on an array for one frame and return its output."""

    def apply(block: str, image: Array, **parameters: Any) -> Array:
        patch = Patch()
        source = patch.add("io.image_array", data=image)
        node = patch.add(block, **parameters)
        patch.connect(source["out"], node["image"])
        with Engine(patch, device="host", profiling=WHOLE) as engine:
            engine.step()
            return engine.read(node["out"])

    return apply
