"""Names of new nodes and frames."""

from collections.abc import Iterable


class Names:
    """Names that are in use, with the highest number of each stem, so that a new name needs no search."""

    def __init__(self, used: Iterable[str] = ()) -> None:
        self._used: set[str] = set()
        self._highest: dict[str, int] = {}
        for name in used:
            self.add(name)

    def __contains__(self, name: str) -> bool:
        return name in self._used

    def add(self, name: str) -> None:
        """Note that a name is in use."""
        self._used.add(name)
        stem, has_number, number = name.rpartition("_")
        if has_number and number.isdecimal():
            self._highest[stem] = max(int(number), self._highest.get(stem, 1))

    def free(self, stem: str) -> str:
        """Return an unused name: the stem itself, or the stem with the next number."""
        return f"{stem}_{self._highest.get(stem, 1) + 1}" if stem in self._used else stem

    def copy(self) -> "Names":
        """Return the names so far, which can be added to independently."""
        made = Names()
        made._used, made._highest = self._used.copy(), self._highest.copy()
        return made
