"""Host names and the addresses that they stand for, looked up on threads of their own."""

import logging
import socket
import threading
import time
from ipaddress import IPv4Address

_log = logging.getLogger(__name__)
#: The time for which an answer is used before it is looked up again: a name that was found, and one that was not.
_FRESH_S, _RETRY_S = 60.0, 5.0


class HostNames:
    """Finds addresses without waiting: an answer arrives a moment after the first question."""

    def __init__(self) -> None:
        #: The addresses, or why there is none, by name; and when it is to be looked up again.
        self._known: dict[str, str | OSError] = {}
        self._due_s: dict[str, float] = {}

    def find(self, host: str) -> str | None:
        """Return the IPv4 address of a host; None until it is known. Raise OSError if the name is not found."""
        try:
            return str(IPv4Address(host))
        except ValueError:
            pass
        now_s = time.monotonic()
        if now_s >= self._due_s.get(host, 0.0):
            self._due_s[host] = now_s + _FRESH_S  # unless the answer says otherwise
            threading.Thread(target=self._look, args=(host,), name=f"warploom-host {host}", daemon=True).start()
        known = self._known.get(host)
        if isinstance(known, OSError):
            raise known
        return known

    def _look(self, host: str) -> None:
        try:
            found = socket.getaddrinfo(host, None, socket.AF_INET, socket.SOCK_DGRAM)
            self._known[host] = str(found[0][4][0])
        except (OSError, UnicodeError) as problem:
            _log.debug("the host %s was not found: %s", host, problem)
            self._due_s[host] = time.monotonic() + _RETRY_S
            if not isinstance(self._known.get(host), str):  # an old answer may be right still
                self._known[host] = problem if isinstance(problem, OSError) else OSError(str(problem))
