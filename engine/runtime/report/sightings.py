"""Times and counts of diagnostics; one that comes back soon counts as the same."""

import re
import time
from collections.abc import Container, Iterable

from msgspec.structs import replace

from warploom.engine.diagnostics import Diagnostic, Sighting

#: Digits in a word, such as the "1" of "blur_1", are part of a name.
_NUMBERS = re.compile(r"(?<!\w)-?[0-9][0-9.,]*(?:e[-+]?[0-9]+)?")
#: Time after which a diagnostic that comes back counts as new.
REMEMBERED_S = 60.0
#: Key of a diagnostic: equal keys mean the same diagnostic.
Identity = tuple[object, ...]


def identity(diagnostic: Diagnostic) -> Identity:
    """Return the part of a diagnostic that stays the same while its numbers change."""
    return diagnostic.severity, diagnostic.node, diagnostic.port, _NUMBERS.sub("", diagnostic.message)


class Sightings:
    """The sightings of the diagnostics of one engine."""

    def __init__(self) -> None:
        self._known: dict[Identity, Sighting] = {}
        self._present: set[Identity] = set()

    def count(self, which: Identity) -> None:
        """Count a diagnostic that was found now."""
        known, now_s = self._known.get(which), time.time()
        if known is not None and now_s - known.last_s < REMEMBERED_S:
            self._known[which] = Sighting(known.first_s, now_s, known.count + 1)
        else:
            self._known[which] = Sighting(now_s, now_s)
        self._present.add(which)

    def follow(self, diagnostics: Iterable[Diagnostic], fading: Container[Identity]) -> tuple[Sighting, ...]:
        """Return the sightings of the current diagnostics, in their order; new ones are counted."""
        present = list(map(identity, diagnostics))
        for which in dict.fromkeys(present):
            if which not in self._present:
                self.count(which)
        now_s = time.time()
        for which in self._present.difference(present):
            self._known[which] = replace(self._known[which], last_s=now_s)
        oldest_s, self._present = now_s - REMEMBERED_S, set(present)
        self._known = {
            which: known for which, known in self._known.items() if which in self._present or known.last_s > oldest_s
        }
        return tuple(
            replace(self._known[which], is_fading=True) if which in fading else self._known[which] for which in present
        )
