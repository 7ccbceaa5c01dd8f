"""Writes the example patches in `resources/examples/`, through the same calls that an edit makes.

python tools/make_examples.py
"""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

from engine.patch.document import NodeRef, Patch
from engine.patch.files import save_patch

EXAMPLES = Path(__file__).parents[1] / "resources" / "examples"
# Where the columns of nodes begin: far enough apart for each title with its time, so that all fit a window at 100 %.
PARTICLE_COLUMNS = (0.0, 168.0, 328.0, 512.0, 720.0)
PHOTO_COLUMNS = (0.0, 192.0, 400.0, 552.0, 704.0)


def main() -> None:
    """Write every example."""
    EXAMPLES.mkdir(parents=True, exist_ok=True)
    save_patch(particles(), EXAMPLES / "particles.loom")
    save_patch(photo(), EXAMPLES / "photo.loom")


def particles() -> Patch:
    """A fountain of 100,000 glowing particles."""
    patch, columns = Patch(), PARTICLE_COLUMNS
    patch.extra = {
        "title": "Particles",
        "description": "A fountain of 100,000 glowing particles. Drag gravity while it runs.",
    }
    emitter = patch.add("particles.emitter", node_id="emitter", position=(columns[0], 0.0))
    forces = patch.add("particles.forces", node_id="forces", position=(columns[1], 0.0))
    integrate = patch.add("particles.integrate", node_id="integrate", position=(columns[2], 0.0))
    render = patch.add("particles.render_points", node_id="render", position=(columns[3], 0.0))
    viewer = patch.add("io.viewer", node_id="viewer", position=(columns[4], 0.0))
    patch.connect(emitter["particles"], forces["particles"])
    patch.connect(forces["out"], integrate["particles"])
    patch.connect(integrate["out"], render["particles"])
    patch.connect(render["image"], viewer["image"])
    return patch


def photo() -> Patch:
    """The outlines of a photograph."""
    patch, columns = Patch(), PHOTO_COLUMNS
    patch.extra = {
        "title": "Photo",
        "description": "The outlines of a photograph: blur, edges, tone. Drag a slider and see its cost.",
    }
    load = patch.add("io.load_image", node_id="load", position=(columns[0], 0.0), file="../media/still_life.jpg")
    blur = patch.add("image.gaussian_blur", node_id="blur", position=(columns[1], 0.0), sigma=1.8)
    sobel = patch.add("image.sobel", node_id="sobel", position=(columns[2], 0.0), per_channel=True)
    tone = patch.add("image.tone", node_id="tone", position=(columns[3], 0.0), exposure=0.6, contrast=1.6)
    viewer = patch.add("io.viewer", node_id="viewer", position=(columns[4], -80.0))
    save = patch.add("io.save_image", node_id="save", position=(columns[4], 80.0), file="edges.png")
    _chain(patch, load, blur, sobel, tone)
    patch.connect(tone["out"], viewer["image"])
    patch.connect(tone["out"], save["image"])
    return patch


def _chain(patch: Patch, *nodes: NodeRef) -> None:
    for source, target in pairwise(nodes):
        patch.connect(source["out"], target["image"])


if __name__ == "__main__":
    main()
