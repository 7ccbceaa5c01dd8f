"""Writes the example patches in `resources/examples/`, through the same calls that an edit makes.

python tools/make_examples.py
"""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

from engine.patch.document import NodeRef, Patch
from engine.patch.files import save_patch

EXAMPLES = Path(__file__).parents[1] / "resources" / "examples"
COLUMN = 260.0  # canvas units from one node to the next


def main() -> None:
    """Write every example."""
    EXAMPLES.mkdir(parents=True, exist_ok=True)
    save_patch(particles(), EXAMPLES / "particles.loom")
    save_patch(photo(), EXAMPLES / "photo.loom")


def particles() -> Patch:
    """A fountain of 100,000 glowing particles."""
    patch = Patch()
    patch.extra = {
        "title": "Particles",
        "description": "A fountain of 100,000 glowing particles. Drag gravity while it runs.",
    }
    emitter = patch.add("particles.emitter", node_id="emitter", position=(0.0, 0.0))
    forces = patch.add("particles.forces", node_id="forces", position=(COLUMN, 0.0))
    integrate = patch.add("particles.integrate", node_id="integrate", position=(2 * COLUMN, 0.0))
    render = patch.add("particles.render_points", node_id="render", position=(3 * COLUMN, 0.0))
    viewer = patch.add("io.viewer", node_id="viewer", position=(4 * COLUMN, 0.0))
    patch.connect(emitter["particles"], forces["particles"])
    patch.connect(forces["out"], integrate["particles"])
    patch.connect(integrate["out"], render["particles"])
    patch.connect(render["image"], viewer["image"])
    return patch


def photo() -> Patch:
    """The outlines of a photograph."""
    patch = Patch()
    patch.extra = {
        "title": "Photo",
        "description": "The outlines of a photograph: blur, edges, tone. Drag a slider and see its cost.",
    }
    load = patch.add("io.load_image", node_id="load", position=(0.0, 0.0), file="../media/still_life.jpg")
    blur = patch.add("image.gaussian_blur", node_id="blur", position=(COLUMN, 0.0), sigma=1.8)
    sobel = patch.add("image.sobel", node_id="sobel", position=(2 * COLUMN, 0.0), per_channel=True)
    tone = patch.add("image.tone", node_id="tone", position=(3 * COLUMN, 0.0), exposure=0.6, contrast=1.6)
    viewer = patch.add("io.viewer", node_id="viewer", position=(4 * COLUMN, -90.0))
    save = patch.add("io.save_image", node_id="save", position=(4 * COLUMN, 90.0), file="edges.png")
    _chain(patch, load, blur, sobel, tone)
    patch.connect(tone["out"], viewer["image"])
    patch.connect(tone["out"], save["image"])
    return patch


def _chain(patch: Patch, *nodes: NodeRef) -> None:
    for source, target in pairwise(nodes):
        patch.connect(source["out"], target["image"])


if __name__ == "__main__":
    main()
