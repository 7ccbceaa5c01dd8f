"""The examples of the gallery."""

import json
from pathlib import Path

from warploom.app.documents.gallery import find_examples, neighbours


def test_examples_are_read_from_their_files(tmp_path: Path) -> None:
    """An example's title and description come from its file, or the title from its name; other files are ignored."""
    (tmp_path / "1.loom").write_text(json.dumps({"title": "One", "description": "Shows it.", "nodes": []}))
    (tmp_path / "1.webp").write_bytes(b"")
    (tmp_path / "my_second.loom").write_text('{"nodes": []}')
    (tmp_path / "broken.loom").write_text("{")
    (tmp_path / "other.txt").write_text("")
    one, two = find_examples(tmp_path)
    assert (one.title, one.description, one.film) == ("One", "Shows it.", tmp_path / "1.webp")
    assert (two.title, two.film) == ("My second", None)


def test_examples_follow_the_order_of_their_themes(tmp_path: Path) -> None:
    """Examples come in the order of the themes; those that no theme names are last."""
    for name in "abc":
        (tmp_path / f"{name}.loom").write_text('{"nodes": []}')
    (tmp_path / "gallery.toml").write_text('[[theme]]\ntitle = "Light"\nexamples = ["c", "gone", "b"]')
    found = [(example.path.stem, example.theme) for example in find_examples(tmp_path)]
    assert found == [("c", "Light"), ("b", "Light"), ("a", "")]


def test_shipped_examples_have_a_title_a_description_a_theme_and_a_film() -> None:
    """Every shipped example has a title, a description, a theme and a film."""
    examples = find_examples()
    assert examples
    assert all(example.title and example.description and example.theme and example.film for example in examples)


def test_examples_know_which_types_are_connected(tmp_path: Path) -> None:
    """By type, or by the first part of an id, and separately for what feeds and what is fed."""
    nodes = [{"id": name, "type": f"{kind}.{name}"} for kind, name in (("image", "a"), ("image", "b"), ("io", "c"))]
    lines = [{"source": f"{one}.out", "target": f"{other}.x"} for one, other in ("ab", "ac", "bc")]
    (tmp_path / "one.loom").write_text(json.dumps({"nodes": nodes, "connections": lines}))
    (tmp_path / "broken.loom").write_text("{")
    found = neighbours(tmp_path)
    assert found["image.a", True] == {"image.b": 1, "io.c": 1}
    assert found["image", True] == {"image.b": 1, "io.c": 2}
    assert found["io.c", False] == {"image.a": 1, "image.b": 1}
    assert ("io.c", True) not in found
