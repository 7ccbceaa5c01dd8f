"""PTX text to tokens."""

from __future__ import annotations

import re
from dataclasses import dataclass

from engine.diagnostics import KernelError


class PtxSyntaxError(KernelError):
    """PTX text that cannot be parsed; `line` is the line of the text, counted from 1."""


@dataclass(frozen=True, slots=True)
class Token:
    """One token. `kind` is word, directive, number, string, location, file, symbol or end."""

    kind: str
    text: str
    line: int


# `.loc` and `.file` end with their line and debug sections hold no nested braces: each is one token. The debug lines of
# PTX 2 begin with `@@DWARF`.
_PATTERN = re.compile(
    r"""
    (?P<space>[ \t\r\n\f\v]+ | //[^\n]* | /\*.*?\*/ | ^\#[^\n]* | @@DWARF[^\n]*)
  | (?P<location>\.loc\b[^\n]*)
  | (?P<file>\.file\b[^\n]*)
  | (?P<section>\.section\b[^{;\n]*\s*\{[^}]*\} | \.section\b[^\n]*
        | \.(?:byte|[248]byte|quad)\b[^\n]*)
  | (?P<number>0[fF][0-9a-fA-F]{8}(?!\w) | 0[dD][0-9a-fA-F]{16}(?!\w) | 0[xX][0-9a-fA-F]+U? | 0[bB][01]+U?
        | \d+\.\d*(?:[eE][+-]?\d+)? | \d+[eE][+-]?\d+ | \d+U?)
  | (?P<word>(?:%[\w$]+|[$_A-Za-z][\w$]*)(?:\.\w+(?:::\w+)*)*)
  | (?P<directive>\.[A-Za-z_]\w*(?:::\w+)*)
  | (?P<string>"(?:[^"\\\n]|\\.)*")
  | (?P<symbol><<|>>|<=|>=|==|!=|&&|\|\||[\[\]{}(),;:@!|+\-=<>~*%&^?]|/(?!\*))
    """,
    re.VERBOSE | re.DOTALL | re.MULTILINE,
)


def tokenize(text: str) -> list[Token]:
    """Return the tokens of `text`, the last of kind "end"; PtxSyntaxError at a character that starts none."""
    tokens: list[Token] = []
    line, position, length = 1, 0, len(text)
    match = _PATTERN.match
    while position < length:
        found = match(text, position)
        if found is None:
            excerpt = text[position : position + 20].split("\n")[0]
            if excerpt.startswith("/*"):
                raise PtxSyntaxError(f"PTX line {line}: comment must end with */, got end of file", line=line)
            raise PtxSyntaxError(f"PTX line {line}: text must be PTX, got {excerpt!r}", line=line)
        kind, value = found.lastgroup or "", found.group()
        if kind not in ("space", "section"):
            tokens.append(Token(kind, value, line))
        line += value.count("\n")
        position = found.end()
    tokens.append(Token("end", "end of file", line))
    return tokens
