"""The example patches run, show pictures, compute numpy's results, and are saved by the editor without changes."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from scipy import ndimage
from scipy.sparse import csr_array
from scipy.sparse.linalg import spsolve

from tests.blocks import control_checks, signal_checks
from tests.blocks.control_checks import EXAMPLES, example
from warploom import Engine, UpdateLevel
from warploom.blocks.io.decode_image import load_linear
from warploom.engine.device.device import Device
from warploom.engine.patch.files import dump_patch, load_patch
from warploom.engine.protocol.messages import Reset, SetInput

PHOTO = Path(__file__).parents[2] / "resources" / "media" / "still_life.jpg"
CHECKS = [*control_checks.CHECKS, *signal_checks.CHECKS]
CHECKED = [check.__name__.removeprefix("check_") for check in CHECKS]


@pytest.mark.parametrize(
    "name",
    [
        "particles",
        "photo",
        "springs",
        "colours",
        "values",
        "digits",
        "picture",
        "sparse",
        "music",
        "synthesizer",
        "live_sound",
        "glitch",
        "flow",
        "slideshow",
        "mandala",
        "slime",
        "terrain",
        "galaxy",
        "flock",
        "modular",
        "darkroom",
        "letters",
        *CHECKED,
    ],
)
def test_example_is_what_the_editor_saves(name: str) -> None:
    """Loading and saving an example changes nothing, so a diff of it shows only edits."""
    path = EXAMPLES / f"{name}.loom"
    assert dump_patch(load_patch(path)) == path.read_text("utf-8")


@pytest.mark.usefixtures("optimiser")
def test_fountain_fills_with_light() -> None:
    """After a second many pixels are lit and frames differ, even while the kernels are being optimised."""
    patch = load_patch(EXAMPLES / "particles.loom")
    patch.set("emitter", count=25_000)  # as many as are born in a second
    patch.set("render", width=640, height=360)
    with Engine(patch, device="host") as engine:
        for _ in range(60):
            assert not engine.step().diagnostics
        image = engine.read(patch["render"]["image"])
        engine.step()
        assert np.abs(engine.read(patch["render"]["image"]) - image).max() > 0.1
    assert image.shape == (360, 640, 4)
    bright = (image[..., :3].max(2) > 0.25).mean()
    assert 0.005 < bright < 0.5
    assert np.isfinite(image).all() and image.min() >= 0 and image.max() <= 1


def test_a_film_is_dithered_into_few_colours() -> None:
    """The glitched film moves, and each channel has so many levels as the slider says."""
    patch = load_patch(EXAMPLES / "glitch.loom")
    with Engine(patch, device="host") as engine:
        pictures = []
        for _ in range(3):
            assert not engine.step().diagnostics
            pictures.append(engine.read(patch["film"]["out"]))
        levels = np.unique(engine.read(patch["dither"]["out"])[..., :3])
    assert pictures[0].shape == (360, 640, 4)
    np.testing.assert_array_equal(pictures[0], pictures[1])  # 30 frames a second in 60 of the patch
    assert np.abs(pictures[2] - pictures[1]).max() > 0.1
    np.testing.assert_allclose(levels, (np.arange(4) / 3) ** 2, atol=1e-6)


def test_motion_of_a_film_leaves_sparks() -> None:
    """Each picture of the film has the motion from the one before, and there is light only near what moved."""
    patch = load_patch(EXAMPLES / "flow.loom")
    with Engine(patch, device="host") as engine:
        flows = []
        for _ in range(6):
            assert not engine.step().diagnostics
            flows.append(engine.read(patch["flow"]["out"]))
        light = engine.read(patch["light"]["out"])[..., :3].max(2)
    assert not flows[0].any() and flows[2].any()
    np.testing.assert_array_equal(flows[4], flows[5])  # 30 frames a second in 60 of the patch
    speed = 2 * np.linalg.norm(flows, axis=3).max(0)
    moved = ndimage.maximum_filter(speed, 17).repeat(2, 0).repeat(2, 1) > 2
    assert 0.01 < (light > 0.05).mean() < 0.3 and not light[~moved].any()


def test_slime_grows_towards_the_pointer() -> None:
    """The trail is where the mouse is, more than on the other side, and it is drawn."""
    patch = load_patch(EXAMPLES / "slime.loom")
    patch.set("food", width=320, height=180)
    patch.set("mould", width=320, height=180, agents=5_000)
    with Engine(patch, device="host") as engine:
        engine.post(SetInput("mouse.x", 0.2))
        for _ in range(40):
            assert not engine.step().diagnostics
        trail, image = engine.read(patch["mould"]["trail"]), engine.read(patch["light"]["image"])
    near, far = (trail[75:105, x - 15 : x + 15].mean() for x in (64, 256))
    assert near > 1.5 * far and image[..., :3].std() > 0.01


def test_stars_keep_their_momentum_and_birds_their_space() -> None:
    """Nothing moves the galaxy as a whole; birds stay around home, near their speed, and are drawn."""
    found = {}
    for name, node, number in (("galaxy", "stars", 600), ("flock", "birds", 900)):
        patch = load_patch(EXAMPLES / f"{name}.loom")
        patch.set(node, count=number)
        patch.set("draw", width=320, height=180)
        with Engine(patch, device="host") as engine:
            for frame in range(61):
                assert not engine.step().diagnostics
                if frame in (0, 60):
                    found[name, frame] = engine.read(patch["move"]["out"])
            assert engine.read(patch["draw"]["image"])[..., :3].max() > 0.3
    first, last = (found["galaxy", frame]["velocity"].mean(0) for frame in (0, 60))
    np.testing.assert_allclose(first, last, atol=1e-4)
    birds = found["flock", 60]
    assert np.linalg.norm(birds["position"] - [0, 1.7, 0], axis=1).max() < 3.5
    assert 0.7 < np.linalg.norm(birds["velocity"], axis=1).mean() < 2


def test_a_landscape_has_water_and_shadows() -> None:
    """The lowest ground is water, the heights are those of the noise, and some of what the lamp lights is in shadow."""
    patch = load_patch(EXAMPLES / "terrain.loom")
    patch.set("draw", width=160, height=90, spin=0.0)
    pictures = []
    with Engine(patch, device="host") as engine:
        for lamp in (0.0, 2.6):
            patch.set("draw", lamp=lamp)
            assert not engine.step().diagnostics
            pictures.append(engine.read(patch["draw"]["image"]))
        heights, points = engine.read(patch["hills"]["out"]), engine.read(patch["surface"]["points"])
    np.testing.assert_allclose(points[:, 1].reshape(192, 192), 0.55 * heights, rtol=1e-6)
    assert 0.1 < (heights == heights.min()).mean() < 0.6
    dark, bright = pictures
    covered = dark[..., 3] > 0
    assert 0.3 < covered.mean() < 1
    assert 0.02 < (np.abs(bright - dark)[covered][:, :3].max(1) < 1e-6).mean() < 0.5


def test_slides_grow_and_fade_into_each_other() -> None:
    """A slide grows for 5 seconds, in the last of which it fades into the next one; the first follows the last."""
    slides = [load_linear(PHOTO.parent / f"hills_{number}.jpg") for number in range(1, 6)]
    patch = load_patch(EXAMPLES / "slideshow.loom")
    patch.set("title", text="")
    shown = []
    with Engine(patch, device="host", time_step_s=4.5) as engine:
        for _ in range(7):
            assert not engine.step().diagnostics
            shown.append(engine.read(patch["over"]["out"]))
    middle = np.s_[260:280, 470:490, :3]
    for frame, picture in enumerate(shown):
        first, second = (slides[(frame * 9 // 10 + later) % 5][middle].mean() for later in (0, 1))
        expected = (first + second) / 2 if frame == 1 else first
        assert picture[middle].mean() == pytest.approx(expected, abs=0.02), frame
    # The longer a slide is seen, the further is the sun from the middle of the picture.
    early, late = (479.5 - np.nonzero(picture[:, :480, 1] > 0.9)[1].mean() for picture in (shown[0], shown[6]))
    assert late / early == pytest.approx(1.06 / 1.02, abs=0.005)


def test_values_drive_the_particles() -> None:
    """Driven parameters equal their closed forms, and the mouse blows the particles to its side of the picture."""
    patch = load_patch(EXAMPLES / "values.loom")
    patch.set("emitter", count=3000, rate=1500.0)
    patch.set("render", width=320, height=180)
    middles = []
    with Engine(patch, device="host") as engine:
        for x in (0.0, 1.0):
            engine.post(Reset())
            engine.post(SetInput("mouse.x", x))
            for frame in range(60):
                report = engine.step()
                assert not report.diagnostics and report.update_level in (UpdateLevel.COLD, UpdateLevel.HOT)
                t = frame / 60
                assert report.values["emitter.lean"] == pytest.approx(24 + 20 * np.sin(2 * np.pi * 0.15 * t))
                assert report.values["emitter.speed"] == pytest.approx(4.5 + 3 * abs(np.sin(np.pi * 0.6 * t)))
            assert report.values["forces.wind_x"] == pytest.approx(-14 if x == 0 else 14)
            particles = engine.read(patch["integrate"]["out"])
            middles.append(particles["position"][particles["life"] > 0][:, 0].mean())
        assert engine.read(patch["render"]["image"]).std() > 0.01
    assert middles[0] < -0.3 < 0.3 < middles[1]


def test_photograph_becomes_outlines(tmp_path: Path) -> None:
    """The picture has the sample's size, is dark where the sample is even, and is saved as a file."""
    patch = load_patch(EXAMPLES / "photo.loom")
    with Engine(patch, device="host") as engine:
        assert not engine.step().diagnostics
        edges = engine.read(patch["tone"]["out"])[..., :3]
        saved = engine.save_outputs(tmp_path)
    assert edges.shape[:2] == load_linear(PHOTO).shape[:2]
    assert np.median(edges) < 0.1 < 0.5 < edges.max()
    assert any(
        Path(item.path or "").suffix == ".png" and Path(item.path or "").stat().st_size > 10_000 for item in saved
    )


@pytest.mark.parametrize("check", CHECKS, ids=CHECKED)
def test_example_computes_what_numpy_does(check: Callable[[Device | str], None]) -> None:
    """Each example agrees with numpy by its check in `control_checks` or `signal_checks`."""
    check("host")


@pytest.mark.parametrize("name", CHECKED)
def test_example_shows_a_picture(name: str) -> None:
    """A viewer is connected, its picture has more than one colour, and there are no diagnostics."""
    patch = load_patch(EXAMPLES / f"{name}.loom")
    assert patch.extra["title"] and patch.extra["description"].endswith(".")
    (shown,) = patch.connections_of("viewer")
    with Engine(patch, device="host") as engine:
        for _ in range(2 if name == "feedback" else 1):  # the first particles are almost invisible
            assert not engine.step().diagnostics
        assert engine.read(shown.source)[..., :3].std() > 1e-4


def test_a_loop_inside_the_limit_says_nothing_and_one_beyond_it_does() -> None:
    """The plate's loop stops at a limit that is too low, with a warning on the loop."""
    patch = example("jacobi", loop={"limit": 20})
    with Engine(patch, device="host") as engine:
        for _ in range(2):
            report = engine.step()
        assert engine.read(patch["loop"]["turns"]).tolist() == [20]
    assert [(problem.node, problem.port) for problem in report.diagnostics] == [("loop", "turns")]


def test_springs_hang_where_a_direct_solver_says() -> None:
    """Conjugate gradients end before their limit, and the springs hang within 0.2 % of a direct solver's result."""
    patch = load_patch(EXAMPLES / "springs.loom")
    with Engine(patch, device="host") as engine:
        for _ in range(2):
            engine.step()
        parts = [engine.read(patch["net"][name]) for name in ("entries", "columns", "offsets")]
        hangs, force = engine.read(patch["grid"]["out"]), engine.read(patch["force"]["out"])
        turns = int(engine.read(patch["loop"]["turns"])[0])
    matrix = csr_array(tuple(parts)).astype(np.float64)
    assert abs(matrix - matrix.T).max() == 0
    expected = spsolve(matrix.tocsc(), force.astype(np.float64))
    assert np.abs(hangs.ravel() - expected).max() < 0.002 * np.abs(expected).max()
    assert 0 < turns < 1000


def test_colours_become_independent() -> None:
    """All channels end up with the same variance and are uncorrelated; alpha is unchanged."""
    patch = load_patch(EXAMPLES / "colours.loom")
    with Engine(patch, device="host") as engine:
        assert not engine.step().diagnostics
        before = engine.read(patch["pixels"]["out"]).astype(np.float64)
        found = engine.read(patch["apart"]["out"]).astype(np.float64)
        np.testing.assert_allclose(engine.read(patch["covariance"]["out"]), np.cov(before.T, bias=True), atol=1e-6)
    np.testing.assert_allclose(np.cov(found[:, :3].T), 0.16**2 * np.eye(3), atol=1e-4)
    np.testing.assert_allclose(found[:, 3], 1, atol=1e-3)


def test_digits_are_learned() -> None:
    """After 40 small steps, 8 of 10 digits that the network never saw are recognised."""
    patch = load_patch(EXAMPLES / "digits.loom")
    with Engine(patch, device="host") as engine:
        for _ in range(40):
            assert not engine.step().diagnostics
        assert engine.read(patch["right"]["out"])[0] >= 0.8
        losses = engine.read(patch["train"]["losses"])
    assert np.isnan(losses[:216]).all() and losses[-20:].mean() < 0.5 * losses[216]


def test_a_picture_is_learned() -> None:
    """After 35 steps, the network's picture is closer to the photograph than its mean colour is."""
    patch = load_patch(EXAMPLES / "picture.loom")
    patch.set("batches", size=512)
    with Engine(patch, device="host") as engine:
        for _ in range(35):
            assert not engine.step().diagnostics
        learned, photo = engine.read(patch["picture"]["out"]), engine.read(patch["small"]["out"])
        assert engine.read(patch["larger"]["out"]).shape == (384, 384, 4)
    error = np.square(learned - photo).mean()
    assert error < 0.6 * np.square(photo - photo.mean(axis=(0, 1))).mean()


def test_what_sparse_features_are_worth_is_found_out() -> None:
    """The loss falls below a third of the loss of guessing one half for each example."""
    patch = load_patch(EXAMPLES / "sparse.loom")
    patch.set("features", shape="512, 32")
    with Engine(patch, device="host") as engine:
        for _ in range(20):
            assert not engine.step().diagnostics
        wanted, loss = engine.read(patch["judge"]["chance"]), engine.read(patch["train"]["loss"])
    assert loss[0] < np.square(wanted - 0.5).mean() / 3


def test_a_voice_from_blocks_plays_its_notes() -> None:
    """The tone has the pitch of its note, the filter takes what lies above, and the spectrum moves to the left."""
    patch = load_patch(EXAMPLES / "modular.loom")
    with Engine(patch, device="host") as engine:
        for _ in range(11):
            assert not engine.step().diagnostics
        sounds = [engine.read(patch[node]["out"]) for node in ("tone", "filter", "echo")]
        before = engine.read(patch["spectrum"]["out"])
        engine.step()
        after = engine.read(patch["spectrum"]["out"])
    tone, filtered = (np.abs(np.fft.rfft(x * np.hanning(4800), 48000)) for x in sounds[:2])
    note = 110.0  # the first one, from the root
    assert abs(np.argmax(tone) - note) < 6
    share = [x[5000:].sum() / x[:5000].sum() for x in (tone, filtered)]
    assert share[1] < 0.1 * share[0]
    assert 0.05 < np.abs(sounds[2]).max() < 1
    np.testing.assert_array_equal(after[:, :-4], before[:, 4:])
    assert after[:, -4:, 0].max() > 0.5


def test_a_darkroom_opens_the_shadows() -> None:
    """Dark parts become much lighter than bright ones, whose order stays, and nothing is cut off below 0."""
    patch = load_patch(EXAMPLES / "darkroom.loom")
    with Engine(patch, device="host") as engine:
        assert not engine.step().diagnostics
        photo, found = (engine.read(patch[node]["out"])[..., :3].mean(2) for node in ("photo", "curves"))
    dark, bright = photo < np.quantile(photo, 0.25), photo > np.quantile(photo, 0.95)
    assert found[dark].mean() > 1.3 * photo[dark].mean()
    assert found[bright].mean() / photo[bright].mean() < found[dark].mean() / photo[dark].mean()
    blurred = [ndimage.gaussian_filter(image, 8).ravel() for image in (photo, found)]
    assert np.corrcoef(blurred)[0, 1] > 0.9
    assert found.min() >= 0


def test_letters_are_as_bright_as_the_film() -> None:
    """Where the film is bright, its characters cover more, and the picture moves with it."""
    patch = load_patch(EXAMPLES / "letters.loom")
    with Engine(patch, device="host", time_step_s=0.2) as engine:
        pictures = []
        for _ in range(2):
            assert not engine.step().diagnostics
            pictures.append(engine.read(patch["ascii"]["cells"]))
        levels, picture = engine.read(patch["levels"]["out"]), engine.read(patch["ascii"]["out"])
    rows, columns = pictures[-1].shape
    film = levels[..., :3] @ np.float32((0.2126, 0.7152, 0.0722))
    film = ndimage.zoom(ndimage.uniform_filter(film, 6), (rows / film.shape[0], columns / film.shape[1]), order=1)
    ink = picture[..., :3].max(2).reshape(rows, 14, columns, 7).mean((1, 3))
    assert np.corrcoef(film.ravel(), ink.ravel())[0, 1] > 0.8
    assert 0.02 < (pictures[0] != pictures[-1]).mean() < 1
