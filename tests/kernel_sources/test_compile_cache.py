"""Compiled results are stored and found again, and a damaged or full cache only causes misses."""

import os
import random
from contextlib import suppress
from pathlib import Path

import pytest

from warploom.engine.disk_cache import cache_key
from warploom.engine.kernel_sources.cuda.nvrtc import CompileCache, CompiledSource

ENTRY = CompiledSource("ptx", b"\x7fELF\0\xff")


@pytest.mark.parametrize("entry", [ENTRY, CompiledSource("", None)])
def test_stored_results_are_found_again(tmp_path: Path, entry: CompiledSource) -> None:
    """An entry is found again with its CUBIN, or without one, and with its log."""
    CompileCache(tmp_path).put("key", entry)
    assert CompileCache(tmp_path).get("key") == entry
    assert CompileCache(tmp_path).get("other") is None


def test_any_damage_is_a_miss(tmp_path: Path) -> None:
    """An entry with a changed byte, or a shortened one, is a miss."""
    cache = CompileCache(tmp_path)
    cache.put("key", ENTRY)
    (path,) = tmp_path.iterdir()
    good = path.read_bytes()
    for index in random.Random(7).sample(range(len(good)), 20):
        path.write_bytes(good[:index] + bytes([good[index] ^ 1]) + good[index + 1 :])
        assert cache.get("key") is None
        path.write_bytes(good[:index])
        assert cache.get("key") is None
    cache.put("key", ENTRY)
    assert cache.get("key") == ENTRY


def test_the_longest_unused_entries_go_first(tmp_path: Path) -> None:
    """A lookup counts as use. A folder beyond its limit loses its longest unused entries, and keeps the newest."""
    cache = CompileCache(tmp_path, limit_bytes=3000)
    for index, key in enumerate("abcd"):
        cache.put(key, CompiledSource("x" * 600, None))
        os.utime(tmp_path / key, (index, index))
    assert cache.get("a") is not None
    cache.trim()
    assert size_of(tmp_path) > 2250 and all(cache.get(key) for key in "abcd")
    cache = CompileCache(tmp_path, limit_bytes=2000)
    for index, key in enumerate("bcda"):
        os.utime(tmp_path / key, (index, index))
    cache.trim()
    assert {path.name for path in tmp_path.iterdir()} == {"d", "a"} and size_of(tmp_path) <= 1500


def test_a_folder_stays_within_its_limit(tmp_path: Path) -> None:
    """However many entries are stored, the folder soon is within its limit, and keeps the last stored entry."""
    cache = CompileCache(tmp_path, limit_bytes=20_000)
    for index in range(60):
        cache.put(str(index), CompiledSource("x" * 1000, None))
    while size_of(tmp_path) > 20_000:
        cache.put("last", ENTRY)
    assert cache.get("59") is not None


def size_of(folder: Path) -> int:
    """Return the bytes of all files in a folder in which other threads delete files."""
    total = 0
    for path in folder.iterdir():
        with suppress(FileNotFoundError):
            total += path.stat().st_size
    return total


def test_no_temporary_files_are_left(tmp_path: Path) -> None:
    """Writing an entry leaves exactly one file."""
    CompileCache(tmp_path).put("key", ENTRY)
    assert [path.name for path in tmp_path.iterdir()] == ["key"]


def test_a_folder_that_cannot_be_written_only_costs_the_cache(tmp_path: Path) -> None:
    """With a file in place of the folder, writing fails silently and every lookup is a miss."""
    (tmp_path / "file").write_text("")
    cache = CompileCache(tmp_path / "file" / "cache")
    cache.put("key", ENTRY)
    assert cache.get("key") is None


def test_what_can_not_be_written_is_told_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A folder that can't be written is logged once, however many results there are."""
    for name in "ab":
        (tmp_path / name).write_text("no folder")
        cache = CompileCache(tmp_path / name / "cache")
        for _ in range(3):
            cache.put("key", ENTRY)
    messages = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert [text.partition(" cannot be written")[0] for text in messages] == [
        f"cache {tmp_path / n / 'cache'}" for n in "ab"
    ]


def test_different_parts_give_different_keys() -> None:
    """Moving a byte from one part to the next gives another key."""
    keys = {cache_key(parts) for parts in (["ab", "c"], ["a", "bc"], ["abc"], ["abc", ""], ["c", "ab"])}
    assert len(keys) == 5
