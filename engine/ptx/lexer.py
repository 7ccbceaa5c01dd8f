"""Splits PTX text into tokens, and has a cursor over them."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice, pairwise
from typing import NamedTuple

from warploom.engine.diagnostics import KernelError


class PtxSyntaxError(KernelError):
    """PTX text that can't be parsed; `line` is counted from 1."""


class Token(NamedTuple):
    """One token. `kind` is word, directive, number, string, location, file, symbol or end."""

    kind: str
    text: str
    line: int


# `.loc` and `.file` lines, and debug sections, which hold no nested braces, are one token each. The debug lines of PTX
# 2 begin with `@@DWARF`.
_PATTERN = re.compile(
    r"""(?:
    (?P<space>[ \t\r\n\f\v]+ | //[^\n]* | /\*.*?\*/ | ^\#(?![ \t]*include)[^\n]* | @@DWARF[^\n]*)
  | (?P<word>(?:%[\w$]+|[$_A-Za-z][\w$]*)(?:\.\w+(?:::\w+)*)*)
  | (?P<symbol><<|>>|<=|>=|==|!=|&&|\|\||[\[\]{}(),;:@!|+\-=<>~*%&^?]|/(?!\*))
  | (?P<number>0[fF][0-9a-fA-F]{8}(?!\w) | 0[dD][0-9a-fA-F]{16}(?!\w) | 0[xX][0-9a-fA-F]+U? | 0[bB][01]+U?
        | \d+\.\d*(?:[eE][+-]?\d+)? | \d+[eE][+-]?\d+ | \d+U?)
  | (?P<location>\.loc\b[^\n]*)
  | (?P<file>\.file\b[^\n]*)
  | (?P<section>\.section\b[^{;\n]*\s*\{[^}]*\} | \.section\b[^\n]*
        | \.(?:byte|[248]byte|quad)\b[^\n]*)
  | (?P<directive>\.[A-Za-z_]\w*(?:::\w+)*)
  | (?P<string>"(?:[^"\\\n]|\\.)*")
    )[ \t]*""",
    re.VERBOSE | re.DOTALL | re.MULTILINE,
)

#: The most characters of a token that a message repeats.
MAX_SHOWN = 80
#: The most characters of a number, and the deepest nesting.
MAX_NUMBER, MAX_NESTING = 400, 64
#: The kinds of tokens that may span several lines.
_LONG = ("space", "section", "string")


def tokenize(text: str) -> list[Token]:
    """Return the tokens of `text`, with a last one of kind "end". Raise PtxSyntaxError for an invalid character."""
    tokens: list[Token] = []
    line, position, length = 1, 0, len(text)
    match, append = _PATTERN.match, tokens.append
    while position < length:
        found = match(text, position)
        if found is None:
            excerpt = text[position : position + 20].split("\n")[0]
            if excerpt.startswith("/*"):
                raise PtxSyntaxError(f"PTX line {line}: comment must end with */, got end of file", line=line)
            raise PtxSyntaxError(f"PTX line {line}: text must be PTX, got {excerpt!r}", line=line)
        kind = found.lastgroup or ""
        value = found[kind]
        if kind == "number" and len(value) > MAX_NUMBER:
            text = f"number must have at most {MAX_NUMBER} characters, got {len(value)}"
            raise PtxSyntaxError(f"PTX line {line}: {text}", line=line)
        if kind not in ("space", "section"):
            append(Token(kind, value, line))
        if kind in _LONG:
            line += value.count("\n")
        position = found.end()
    tokens.append(Token("end", "end of file", line))
    return tokens


class Cursor:
    """A position in a list of tokens. Each method advances or raises PtxSyntaxError with the current line."""

    def __init__(self, tokens: list[Token]) -> None:
        self._tokens = tokens
        self._index = 0
        self._depth = 0

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
        """Yield each token from here to the end together with the next one, without moving."""
        return pairwise(islice(self._tokens, self._index, None))

    def at(self, text: str) -> bool:
        """Whether the current token is `text`."""
        return self._tokens[self._index].text == text  # a string's text has its quotes

    def take(self) -> Token:
        """Return the current token and step over it."""
        token = self._tokens[self._index]
        if token.kind == "end":
            raise self.error("more tokens")
        self._index += 1
        return token

    def accept(self, text: str) -> bool:
        """Step over `text` if it is the current token."""
        if self._tokens[self._index].text == text:
            self._index += 1
            return True
        return False

    def expect(self, text: str) -> None:
        """Step over `text`, which must be the current token."""
        if not self.accept(text):
            raise self.error(f"{text!r}")

    @contextmanager
    def nested(self) -> Iterator[None]:
        """Read a part that can nest, such as parentheses, up to `MAX_NESTING` deep."""
        if self._depth == MAX_NESTING:
            raise self.error(f"at most {MAX_NESTING} parts in each other")
        self._depth += 1
        try:
            yield
        finally:
            self._depth -= 1

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
        """Return the error with the text that was expected here and the text that is there."""
        token = self.token
        text = token.text if len(token.text) <= MAX_SHOWN else token.text[:MAX_SHOWN] + "..."
        return PtxSyntaxError(f"PTX line {token.line}: must have {wanted} here, got {text!r}", line=token.line)
