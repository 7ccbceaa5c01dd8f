"""A position in a token list, with the steps every part of the parser takes."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice, pairwise

from engine.ptx.lexer import PtxSyntaxError, Token


class Cursor:
    """Walks over tokens; each method either advances or raises PtxSyntaxError at the current line."""

    def __init__(self, tokens: list[Token]) -> None:
        self._tokens = tokens
        self._index = 0

    @property
    def token(self) -> Token:
        """The token at the position."""
        return self._tokens[self._index]

    @property
    def following(self) -> Token:
        """The token after the current one."""
        return self._tokens[min(self._index + 1, len(self._tokens) - 1)]

    @property
    def line(self) -> int:
        """The line of the current token."""
        return self.token.line

    def ahead(self) -> Iterator[tuple[Token, Token]]:
        """Yield each token from here to the end with the one after it, without moving."""
        return pairwise(islice(self._tokens, self._index, None))

    def at(self, text: str) -> bool:
        """Whether the current token is `text`."""
        token = self.token
        return token.text == text and token.kind != "string"

    def take(self) -> Token:
        """Return the current token and step over it."""
        token = self.token
        if token.kind == "end":
            raise self.error("more tokens")
        self._index += 1
        return token

    def accept(self, text: str) -> bool:
        """Step over `text` if it is the current token."""
        if self.at(text):
            self._index += 1
            return True
        return False

    def expect(self, text: str) -> None:
        """Step over `text`, which must be the current token."""
        if not self.accept(text):
            raise self.error(f"{text!r}")

    def word(self, what: str) -> str:
        """Return a name."""
        if self.token.kind != "word":
            raise self.error(what)
        return self.take().text

    def directive(self, what: str) -> str:
        """Return a directive without its dot."""
        if self.token.kind != "directive":
            raise self.error(what)
        return self.take().text[1:]

    def error(self, wanted: str) -> PtxSyntaxError:
        """Return the error that says what was wanted here and what stands here instead."""
        token = self.token
        return PtxSyntaxError(f"PTX line {token.line}: must have {wanted} here, got {token.text!r}", line=token.line)
