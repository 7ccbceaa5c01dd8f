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
VALUE_COLUMNS = (0.0, 125.0, 340.0, 565.0, 728.0, 892.0, 1096.0)
# The same for the patches with loops, whose regions want room around what is in them.
COLUMNS = (0.0, 200.0, 400.0, 600.0, 800.0, 1000.0, 1200.0, 1400.0)


def main() -> None:
    """Write every example."""
    EXAMPLES.mkdir(parents=True, exist_ok=True)
    for example in (particles, photo, mandelbrot, jacobi, nested, append, feedback, values):
        save_patch(example(), EXAMPLES / f"{example.__name__}.loom")


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


def mandelbrot() -> Patch:
    """The Mandelbrot set, by a While that ends when no point goes on."""
    patch, columns = Patch(), COLUMNS
    patch.extra = {
        "title": "Mandelbrot",
        "description": "The Mandelbrot set: a While loop iterates on the device until no point goes on. Zoom: span.",
    }
    points = patch.add("fractal.points", node_id="points", position=(columns[0], 0.0), width=720, height=480)
    going = patch.add("buffer.constant", node_id="going", position=(columns[0], 160.0), dtype="u32", value=1.0)
    loop = patch.add("control.while", node_id="loop", position=(columns[1], 160.0))
    step = patch.add("fractal.mandelbrot_step", node_id="step", position=(columns[2], 0.0), region=loop)
    again = patch.add("buffer.assign", node_id="again", position=(columns[3], 220.0), region=loop)
    color = patch.add("fractal.color_escape", node_id="color", position=(columns[4], 0.0))
    viewer = patch.add("io.viewer", node_id="viewer", position=(columns[5], 0.0))
    patch.connect(going["out"], loop["condition"])
    patch.connect(points["points"], step["points"])
    patch.connect(points["counts"], step["counts"])
    patch.connect(going["out"], again["target"])
    patch.connect(step["active"], again["value"])
    patch.connect(step["points_out"], color["points"])
    patch.connect(step["counts_out"], color["counts"])
    patch.connect(color["image"], viewer["image"])
    return patch


def jacobi() -> Patch:
    """The temperatures of a plate whose edges are held, by a While that ends when nothing changes any more."""
    patch, columns = Patch(), COLUMNS
    patch.extra = {
        "title": "Heat",
        "description": "A plate with held edges: a While loop relaxes it until it has converged. Drag an edge.",
    }
    plate = patch.add("buffer.state", node_id="plate", position=(columns[0], 0.0), shape="96, 144")
    edges = patch.add("field.edges", node_id="edges", position=(columns[1], 0.0))
    going = patch.add("buffer.constant", node_id="going", position=(columns[1], 160.0), dtype="boolean", value=1.0)
    loop = patch.add("control.while", node_id="loop", position=(columns[2], 160.0), limit=50_000)
    step = patch.add("field.jacobi_step", node_id="step", position=(columns[3], 0.0), region=loop)
    store = patch.add("buffer.assign", node_id="store", position=(columns[4], 0.0), region=loop)
    wanting = patch.add(
        "math.compare",
        node_id="wanting",
        position=(columns[4], 220.0),
        region=loop,
        operation="greater",
        value=1e-4,
    )
    again = patch.add("buffer.assign", node_id="again", position=(columns[5], 220.0), region=loop)
    color = patch.add("image.color_ramp", node_id="color", position=(columns[6], 0.0))
    viewer = patch.add("io.viewer", node_id="viewer", position=(columns[7], 0.0))
    patch.connect(plate["out"], edges["field"])
    patch.connect(going["out"], loop["condition"])
    patch.connect(edges["out"], step["u"])
    patch.connect(edges["out"], store["target"])
    patch.connect(step["out"], store["value"])
    patch.connect(step["change"], wanting["x"])
    patch.connect(going["out"], again["target"])
    patch.connect(wanting["out"], again["value"])
    patch.connect(store["out"], color["x"])
    patch.connect(color["image"], viewer["image"])
    return patch


def nested() -> Patch:
    """Rain on water: a For moves the waves on several times a frame, and an If in it lets a drop fall now and then."""
    patch, columns = Patch(), COLUMNS
    patch.extra = {
        "title": "Rain",
        "description": "Rain on water: a For moves the waves on, and an If inside it lets a drop fall now and then.",
    }
    heights = patch.add("buffer.state", node_id="heights", position=(columns[0], 0.0), shape="360, 540")
    velocities = patch.add("buffer.state", node_id="velocities", position=(columns[0], 240.0), shape="360, 540")
    turns = patch.add("control.for", node_id="turns", position=(columns[1], 240.0), count=6)
    every = patch.add("control.every", node_id="every", position=(columns[1], 120.0), region=turns, period=30)
    rain = patch.add("control.if", node_id="rain", position=(columns[2], 120.0), region=turns)
    drop = patch.add("field.drop", node_id="drop", position=(columns[2], 0.0), region=rain, radius=10.0)
    step = patch.add("field.wave_step", node_id="step", position=(columns[3], 0.0), region=turns)
    relief = patch.add("image.relief", node_id="relief", position=(columns[4] + 40, 0.0))  # clear of the region's box
    viewer = patch.add("io.viewer", node_id="viewer", position=(columns[5] + 40, 0.0))
    patch.connect(every["due"], rain["condition"])
    patch.connect(heights["out"], drop["field"])
    patch.connect(drop["out"], step["heights"])
    patch.connect(velocities["out"], step["velocities"])
    patch.connect(step["heights_out"], relief["heights"])
    patch.connect(relief["image"], viewer["image"])
    return patch


def append() -> Patch:
    """A fountain whose highest particles are gathered in an append buffer and drawn once more, in another colour."""
    patch, columns = Patch(), COLUMNS
    patch.extra = {
        "title": "Append buffer",
        "description": "The highest particles of a fountain, gathered on the device and drawn in another colour.",
    }
    emitter = patch.add("particles.emitter", node_id="emitter", position=(columns[0], 0.0))
    forces = patch.add("particles.forces", node_id="forces", position=(columns[1], 0.0))
    integrate = patch.add("particles.integrate", node_id="integrate", position=(columns[2], 0.0))
    select = patch.add(
        "particles.select", node_id="select", position=(columns[3], 160.0), by="height", low=1.8, capacity=100_000
    )
    everyone = patch.add(
        "particles.render_points", node_id="all", position=(columns[3], 0.0), palette="ice", brightness=0.3
    )
    high = patch.add("particles.render_points", node_id="high", position=(columns[4], 160.0), background=0.0)
    mix = patch.add("image.mix", node_id="mix", position=(columns[4], 0.0), mode="screen", amount=1.0)
    viewer = patch.add("io.viewer", node_id="viewer", position=(columns[5], 0.0))
    patch.connect(emitter["particles"], forces["particles"])
    patch.connect(forces["out"], integrate["particles"])
    patch.connect(integrate["out"], everyone["particles"])
    patch.connect(integrate["out"], select["particles"])
    patch.connect(select["selected"], high["particles"])
    patch.connect(select["selected_count"], high["count"])
    patch.connect(everyone["image"], mix["a"])
    patch.connect(high["image"], mix["b"])
    patch.connect(mix["out"], viewer["image"])
    return patch


def feedback() -> Patch:
    """Particles that leave trails: each picture goes, blurred, into the next one."""
    patch, columns = Patch(), COLUMNS
    patch.extra = {
        "title": "Feedback",
        "description": "Trails of light: a frame delay brings the last picture back, and a blur lets it drift apart.",
    }
    emitter = patch.add("particles.emitter", node_id="emitter", position=(columns[0], 0.0), rate=1500.0, turn=40.0)
    forces = patch.add("particles.forces", node_id="forces", position=(columns[1], 0.0), turbulence=4.0)
    integrate = patch.add("particles.integrate", node_id="integrate", position=(columns[2], 0.0))
    render = patch.add(
        "particles.render_points",
        node_id="render",
        position=(columns[3], 0.0),
        background=0.0,
        spin=0.0,
        palette="aurora",
    )
    delay = patch.add("buffer.frame_delay", node_id="delay", position=(columns[3], 160.0))
    blur = patch.add("image.gaussian_blur", node_id="blur", position=(columns[4], 160.0), sigma=0.8)
    mix = patch.add("image.mix", node_id="mix", position=(columns[4], 0.0), mode="screen", amount=0.95)
    viewer = patch.add("io.viewer", node_id="viewer", position=(columns[5], 0.0))
    patch.connect(emitter["particles"], forces["particles"])
    patch.connect(forces["out"], integrate["particles"])
    patch.connect(integrate["out"], render["particles"])
    patch.connect(render["image"], delay["like"])
    patch.connect(delay["out"], blur["image"])
    patch.connect(render["image"], mix["a"])
    patch.connect(blur["out"], mix["b"])
    patch.connect(mix["out"], delay["x"])
    patch.connect(mix["out"], viewer["image"])
    return patch


def values() -> Patch:
    """Particles that numbers lead: an LFO, chance and arithmetic on the jets, the mouse as the wind."""
    patch, columns = Patch(), VALUE_COLUMNS
    patch.extra = {
        "title": "Values",
        "description": "Numbers drive parameters: an LFO leans the jets, the mouse over canvas or viewer is the wind.",
    }
    lean = patch.add(
        "value.lfo",
        node_id="lean",
        title="Lean",
        position=(columns[0], -80.0),
        frequency=0.15,
        amplitude=20,
        offset=24,
    )
    swirl = patch.add(
        "value.random",
        node_id="swirl",
        title="Swirl",
        position=(columns[0], 0.0),
        low=-7.0,
        high=7.0,
        interval=1.5,
        smooth=True,
    )
    beat = patch.add(
        "value.expression",
        node_id="beat",
        title="Beat",
        position=(columns[0], 80.0),
        text="a + b * abs(sin(pi * 0.6 * t))",
        a=4.5,
        b=3.0,
    )
    mouse = patch.add("value.mouse", node_id="mouse", position=(columns[0], 180.0))
    wind = patch.add(
        "value.map", node_id="wind", title="Wind", position=(columns[1], 180.0), to_low=-14.0, to_high=14.0
    )
    soft = patch.add("value.smooth", node_id="soft", position=(columns[2], 180.0), mode="damped", time=0.8)
    light = patch.add(
        "value.slider", node_id="light", title="Light", position=(columns[4] - 32, 120.0), setting=0.4, high=2.0
    )
    emitter = patch.add("particles.emitter", node_id="emitter", position=(columns[2], 0.0), jets=7)
    forces = patch.add("particles.forces", node_id="forces", position=(columns[3], 0.0), drag=0.4)
    integrate = patch.add("particles.integrate", node_id="integrate", position=(columns[4], 0.0))
    render = patch.add("particles.render_points", node_id="render", position=(columns[5], 0.0), palette="aurora")
    viewer = patch.add("io.viewer", node_id="viewer", position=(columns[6], 0.0))
    patch.connect(emitter["particles"], forces["particles"])
    patch.connect(forces["out"], integrate["particles"])
    patch.connect(integrate["out"], render["particles"])
    patch.connect(render["image"], viewer["image"])
    patch.connect(lean["value"], emitter["lean"])
    patch.connect(swirl["value"], emitter["swirl"])
    patch.connect(beat["value"], emitter["speed"])
    patch.connect(mouse["x"], wind["input"])
    patch.connect(wind["value"], soft["input"])
    patch.connect(soft["value"], forces["wind_x"])
    patch.connect(light["value"], render["brightness"])
    return patch


def _chain(patch: Patch, *nodes: NodeRef) -> None:
    for source, target in pairwise(nodes):
        patch.connect(source["out"], target["image"])


if __name__ == "__main__":
    main()
