"""The examples of the gallery."""

import json
from pathlib import Path

from app.documents.gallery import find_examples


def test_examples_are_read_from_their_files(tmp_path: Path) -> None:
    """An example's title and description come from its file, or the title from its name; other files are ignored."""
    nodes = [{"id": "a", "type": "value.lfo", "position": [0, 0]}, {"id": "b", "position": [200, 50]}]
    lines = [{"source": "a.out", "target": "b.x"}]
    first = {"title": "One", "description": "Shows it.", "nodes": nodes, "connections": lines}
    (tmp_path / "1.loom").write_text(json.dumps(first))
    (tmp_path / "my_second.loom").write_text('{"nodes": []}')
    (tmp_path / "broken.loom").write_text("{")
    (tmp_path / "other.txt").write_text("")
    one, two = find_examples(tmp_path)
    assert (one.title, one.description, one.boxes, one.categories, one.lines) == (
        "One",
        "Shows it.",
        {"a": (0, 0), "b": (200, 50)},
        {"a": "Values", "b": ""},
        (("a", "b"),),
    )
    assert two.title == "My second"


def test_shipped_examples_have_a_title_and_a_description() -> None:
    """Every shipped example has a title and a description."""
    examples = find_examples()
    assert examples
    assert all(example.title and example.description and example.boxes for example in examples)
