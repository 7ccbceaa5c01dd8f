"""The catalogue finds block types by id and by words, and suggests similar ids for an unknown one."""

import sys
from pathlib import Path

import pytest

from warploom.api import Block, BlockBuilder, In, f32, port
from warploom.engine.catalogue.catalogue import Catalogue, default_catalogue, load_package
from warploom.engine.diagnostics import PatchError, WarploomError


@pytest.fixture
def catalogue() -> Catalogue:
    """A catalogue with four types that mention "quux" in different places."""

    class QuuxFilter(Block, id="test_search.first"):
        """Filters."""

        x: In[f32] = port(doc="X.")

        def describe(self, build: BlockBuilder) -> None: ...

    class FilterQuux(Block, id="test_search.second"):
        """Filters."""

        x: In[f32] = port(doc="X.")

        def describe(self, build: BlockBuilder) -> None: ...

    class Third(Block, id="test_search.third", tags=("quux",)):
        """Filters."""

        x: In[f32] = port(doc="X.")

        def describe(self, build: BlockBuilder) -> None: ...

    class Fourth(Block, id="test_search.fourth"):
        """Does what a QUUX does."""

        x: In[f32] = port(doc="X.")

        def describe(self, build: BlockBuilder) -> None: ...

    return Catalogue()


def found(catalogue: Catalogue, text: str) -> list[str]:
    return [block.id for block in catalogue.search(text)]


def test_search_ranks_title_before_tags_before_help(catalogue: Catalogue) -> None:
    """A title that begins with the word comes first, then one that contains it, then tags, then help, in any case."""
    names = ["first", "second", "third", "fourth"]
    assert found(catalogue, "quux") == [f"test_search.{name}" for name in names]
    assert found(catalogue, "QuUx ") == found(catalogue, "quux")


def test_search_needs_every_word(catalogue: Catalogue) -> None:
    """Every word must match: a second word narrows the result, and a nonsense word empties it."""
    assert found(catalogue, "quux third") == ["test_search.third"]
    assert found(catalogue, "quux xyzzy") == []


def test_empty_search_lists_everything(catalogue: Catalogue) -> None:
    """An empty search lists all blocks by category and title, as the browser shows them."""
    everything = catalogue.search("")
    assert everything == catalogue.all()
    assert [(b.category, b.title) for b in everything] == sorted((b.category, b.title) for b in everything)


def test_a_user_finds_the_shipped_blocks_by_what_they_do() -> None:
    """For words that a person would type, the expected block comes first."""
    catalogue = default_catalogue()
    for text, expected in (
        ("blur", "image.gaussian_blur"),
        ("saxpy", "math.saxpy"),
        ("png", "io."),
        ("particle", "particles."),
    ):
        assert found(catalogue, text)[0].startswith(expected), text


def test_unknown_types_suggest_near_ones(catalogue: Catalogue) -> None:
    """The error for an id with a typo suggests the right id."""
    with pytest.raises(PatchError) as refused:
        catalogue.require("test_search.frst")
    assert "got 'test_search.frst'; did you mean test_search.first" in str(refused.value)
    assert catalogue.get("test_search.frst") is None


def test_a_package_that_does_not_import_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error for a package that raises during its import names the package and the reason."""
    package = tmp_path / "warploom_broken_blocks"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "bad.py").write_text("raise RuntimeError('no such luck')")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(
        WarploomError, match="block package warploom_broken_blocks must be importable, got RuntimeError: no such luck"
    ):
        load_package("warploom_broken_blocks")
    for name in [name for name in sys.modules if name.startswith("warploom_broken_blocks")]:
        del sys.modules[name]
