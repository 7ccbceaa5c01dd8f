"""A block is found by parts of its names, its initials, the words of other tools, and with a typo."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from warploom.engine.catalogue.catalogue import default_catalogue
from warploom.engine.catalogue.search import SYNONYMS, search, typos

CATALOGUE = default_catalogue()
WORDS = sorted({(word.lower(), block.id) for block in CATALOGUE.all() for word in block.title.split() if len(word) > 4})


def found(text: str) -> list[str]:
    """Return the titles of the library's blocks that a search finds, best first; tests add blocks of their own."""
    return [block.title for block in CATALOGUE.search(text) if not block.id.startswith("test_")]


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("gausian", "Gaussian Blur"),
        ("spout", "NDI In"),
        ("gb", "Gaussian Blur"),
        ("gauss blr", "Gaussian Blur"),
        ("lerp", "Mix"),
        ("oscillator", "Oscillator"),
        ("perlin", "Noise"),
        ("fedback", "Frame Delay"),
        ("veiwer", "Viewer"),
        ("half4", "Convert Pixels"),
        ("image", "Load Image"),
        ("random", "Random"),
        ("ramp", "Ramp"),
        ("threshold", "Threshold"),
        ("binarize", "Threshold"),
        ("abs", "Expression"),
        ("absolute", "Expression"),
        ("clamp", "Clamp"),
        ("limit", "Clamp"),
        ("map range", "Map Range"),
        ("where", "Where"),
        ("take", "Gather"),
        ("concat", "Concatenate"),
        ("join", "Concatenate"),
        ("stack", "Stack"),
        ("std", "Statistics"),
        ("rmse", "Statistics"),
        ("mean squared error", "Statistics"),
        ("strobe", "Every"),
        ("gradient magnitude", "Sobel"),
        ("measure noise", "Statistics"),
        ("compare images", "Mix"),
        ("count objects", "Label"),
        ("plasma", "Noise"),
        ("wiggle", "LFO"),
        ("sparks", "Emitter"),
        ("rainbow", "Color Ramp"),
        ("glsl", "CUDA Kernel"),
        ("fullscreen", "Viewer"),
        ("depth of field", "Convolve"),
        ("sort", "Sort"),
        ("argsort", "Sort by Key"),
        ("cumsum", "Scan"),
        ("prefix sum", "Scan"),
        ("case", "Switch Region"),
        ("trsm", "Solve Triangular"),
        ("getrs", "Solve Factored"),
        ("nonzero", "Compact"),
        ("unique", "Unique"),
        ("group by", "Reduce by Key"),
        ("top", "Top K"),
        ("argmax", "Top K"),
        ("histogram", "Histogram"),
        ("axis", "Reduce Along Axis"),
        ("variance", "Statistics"),
        ("smoke", "Advect"),
        ("biquad", "Sound Filter"),
        ("low pass", "Sound Filter"),
        ("tone curve", "Curves"),
        ("terminal", "ASCII"),
        ("combine", "Combine"),
        ("component", "Component"),
        ("remap", "Remap"),
        ("interpolate", "Interpolate"),
        ("value expression", "Value Expression"),
        ("multiband", "Pyramid Blend"),
        ("pyrdown", "Pyramid Down"),
        ("vco", "Oscillator"),
        ("attack", "ADSR"),
        ("reverb", "Echo"),
        ("tuner", "Pitch"),
        ("taps", "FIR Filter"),
        ("polyphase", "Resample"),
        ("overlap add", "Inverse STFT"),
        ("lut", "LUT"),
        ("otsu", "Automatic Threshold"),
        ("unsharp", "Sharpen"),
        ("ssim", "Structural Similarity"),
        ("registration", "Phase Correlation"),
        ("connected components", "Label"),
        ("despeckle", "Median"),
        ("boids", "Flock"),
        ("vortex", "Attract"),
        ("obstacle", "Collide"),
        ("nbody", "Gravitate"),
        ("rasterizer", "Render Mesh"),
        ("terrain", "Surface"),
        ("physarum", "Slime Mould"),
        ("navier", "Advect Velocity"),
        ("conway", "Cellular Automaton"),
        ("temperature", "Heat"),
        ("lbm", "Lattice Boltzmann"),
        ("wireframe", "Render Lines"),
        ("comet", "Trails"),
        ("copy to points", "Instances"),
        ("kill", "Kill"),
        ("soft body", "Springs"),
        ("turing", "Reaction-Diffusion"),
        ("raymarching", "Ray March"),
        ("metaballs", "Ray March"),
        ("dam break", "SPH"),
        ("fabric", "Cloth"),
        ("velocities", "Points of Particles"),
    ],
)
def test_what_a_new_user_types_comes_first(text: str, title: str) -> None:
    """For a new user's words, the expected block comes first."""
    assert found(text)[0] == title


@pytest.mark.parametrize(
    ("text", "title"),
    [
        *(
            (word, "Expression")
            for word in ("subtract", "minus", "difference", "divide", "power", "negate", "derivative")
        ),
        *((word, "Mix") for word in ("subtract", "difference", "dissolve", "transition", "dodge")),
        ("bandpass", "Sound Filter"),
        ("slideshow", "Load Images"),
        ("tonemap", "Tone"),
        ("volume", "Scale Offset"),
    ],
)
def test_words_of_other_tools_are_among_the_first(text: str, title: str) -> None:
    """What has no block of its own is done by one that the search shows at its top."""
    assert title in found(text)[:5]


@given(st.sampled_from(WORDS), st.data())
def test_one_typo_in_a_word_of_a_title_still_finds_the_block(known: tuple[str, str], data: st.DataObject) -> None:
    """A title's word with an extra, missing, changed or swapped letter finds the block."""
    word, block = known
    at = data.draw(st.integers(1, len(word) - 2))
    letter = data.draw(st.sampled_from("abcdefghijklmnopqrstuvwxyz"))
    wrong = data.draw(
        st.sampled_from(
            [
                word[:at] + word[at + 1 :],
                word[:at] + letter + word[at:],
                word[:at] + letter + word[at + 1 :],
                word[:at] + word[at + 1] + word[at] + word[at + 2 :],
            ]
        )
    )
    names = [f"{b.id} {b.title} {b.tags} {b.category} {b.__doc__}".lower() for b in CATALOGUE.all()]
    if wrong not in SYNONYMS and not any(wrong in name for name in names):
        assert block in [b.id for b in CATALOGUE.search(wrong)]


@given(st.text("abc", max_size=6), st.text("abc", max_size=6))
def test_typos_are_counted_as_by_trying_all_edits(one: str, other: str) -> None:
    """The counted typos are the fewest edits that turn one word into the other, as found by trying all edits."""

    def count(a: str, b: str) -> int:
        if not a or not b:
            return len(a) + len(b)
        ways = [count(a[1:], b) + 1, count(a, b[1:]) + 1, count(a[1:], b[1:]) + (a[0] != b[0])]
        if a[:2] == b[1::-1] and len(a) > 1 and len(b) > 1:
            ways.append(count(a[2:], b[2:]) + 1)
        return min(ways)

    assert typos(one, other) == count(one, other) == typos(other, one)


def test_an_exact_word_finds_nothing_else() -> None:
    """An exact word finds only the blocks that contain it, and nonsense finds none."""
    in_help = {"Pyramid Down", "Glow", "Normal Numbers", "Sharpen", "Add Detail", "Canny", "Thin Edges", "Heat"}
    assert set(found("gaussian")) == {"Gaussian Blur"} | in_help
    assert search(CATALOGUE.all(), "xyzzyx") == []


def test_every_word_of_other_tools_leads_somewhere() -> None:
    """Every entry in the table of other tools' words finds a block, by its word and by its meaning."""
    assert [word for word in SYNONYMS if not CATALOGUE.search(word)] == []
    assert [word for word, meant in SYNONYMS.items() if not CATALOGUE.search(meant)] == []


def test_what_a_person_uses_comes_first_among_equals() -> None:
    """Of blocks that match equally well, those in use come first, but none before one with just this title."""
    used = [block.title for block in CATALOGUE.search("image", lambda block: block.id == "io.save_image")]
    assert used[:2] == ["Save Image", "Load Image"]
    assert CATALOGUE.search("ramp", lambda block: block.title == "Color Ramp")[0].title == "Ramp"
