"""The memory limit of a container, read from the system's files."""

from pathlib import Path

import pytest

from warploom.engine.platforms.memory import container_limits, free_bytes, total_bytes

MIB = 1 << 20


@pytest.mark.parametrize(
    ("groups", "folder", "names", "unlimited"),
    [
        ("0::/a/b\n", "", ("memory.max", "memory.current", "inactive_file"), "max"),
        (
            "5:cpu:/a\n4:memory:/a/b\n0::/\n",
            "memory",
            ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
            "9223372036854771712",
        ),
    ],
)
def test_limits_of_all_groups_around_count(
    tmp_path: Path, groups: str, folder: str, names: tuple[str, str, str], unlimited: str
) -> None:
    """The limit of an enclosing group is found, and droppable file caches count as free; missing groups give none."""
    limit, used, dropped = names
    for group, most in (("a", str(4 * MIB)), ("a/b", unlimited)):
        path = tmp_path / folder / group
        path.mkdir(parents=True, exist_ok=True)
        (path / limit).write_text(most)
        (path / used).write_text(str(3 * MIB))
        (path / "memory.stat").write_text(f"anon 5\n{dropped} {MIB}\n")
    assert container_limits(groups, tmp_path) == [(4 * MIB, 2 * MIB)]
    assert container_limits(groups, tmp_path / "none") == []


def test_free_memory_is_part_of_all_memory() -> None:
    """Free memory is positive and at most total memory."""
    assert 0 < free_bytes() <= total_bytes()
