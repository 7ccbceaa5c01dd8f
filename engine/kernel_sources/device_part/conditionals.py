"""Which parts of a program's texts the preprocessor leaves out, by its `#if` lines."""

import re
from collections.abc import Iterable, Mapping, Sequence

from warploom.engine.kernel_sources.device_part.tokens import Token, directive, nesting, tokens_of
from warploom.engine.kernel_sources.device_part.units import DEVICE_WORDS

_INCLUDE = re.compile(r'\s*#\s*include\s*["<]([^">]+)[">]')
_DEFINE = re.compile(r"\s*#\s*define\s+(\w+)(\([^)]*\))?(.*)", re.DOTALL)
_ANY_DEFINE = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)((?:\\\n|[^\n])*)", re.MULTILINE)
_DEFINED = re.compile(r"\bdefined\s*(?:\(\s*(\w+)\s*\)|(\w+))")
_NUMBER = re.compile(r"\b(0[xX][0-9a-fA-F]+|\d+)[uUlL]*\b")
#: What an expression of numbers may have; a shift or a power could make a number of any size.
_PLAIN = re.compile(r"(?:\d{1,12}|[-+()%!<>=&|/~^\s]|\*(?!\s*\*)|not|and|or)*")
_MOST_DEPTH = 64


class Conditionals:
    """Follows the conditionals of a main text and of the headers that it includes, as the compiler would.

    `macros` has the macros that are defined before the text. What can't be evaluated counts as both true and false.
    """

    def __init__(self, headers: Mapping[str, str], macros: Mapping[str, str]) -> None:
        self._headers = headers
        self._macros: dict[str, str | None] = dict(macros)
        self._tokens: dict[str, Sequence[Token]] = {}
        self._active: dict[str, set[int]] = {}

    def tokens(self, text: str) -> dict[str, Sequence[Token]]:
        """Return the tokens of the main text, named "", and of each header, without those that are left out."""
        self._follow("", text, 0)
        made: dict[str, Sequence[Token]] = {}
        for name, each in {"": text, **self._headers}.items():
            known = self._active.get(name)
            tokens = self._tokens.get(name) or tokens_of(each)
            # A header that nothing includes is never compiled.
            made[name] = tokens if known is None else [token for i, token in enumerate(tokens) if i in known]
        return made

    @property
    def macros(self) -> dict[str, str]:
        """The macros without parameters that are defined at the end of the text."""
        return {name: value for name, value in self._macros.items() if value}

    def _follow(self, name: str, text: str, depth: int) -> None:
        if depth > _MOST_DEPTH:
            return
        if name not in self._tokens:
            self._tokens[name] = tokens_of(text)
        active = self._active.setdefault(name, set())
        # For each open conditional: whether it is in an active part, and whether a branch was taken; None if unknown.
        opened: list[tuple[bool, bool | None]] = []
        is_on = True
        for index, token in enumerate(self._tokens[name]):
            if token.kind != "directive":
                if is_on:
                    active.add(index)
                continue
            active.add(index)
            word = directive(token.text)
            if nesting(word) > 0:
                value = self._value(word, token.text) if is_on else False
                opened.append((is_on, value))
                is_on = is_on and value is not False
            elif word in ("elif", "else") and opened:
                outer, taken = opened[-1]
                value = True if word == "else" else self._value("if", token.text) if outer and not taken else False
                is_on = outer and taken is not True and value is not False
                opened[-1] = (outer, None if taken is None or value is None else taken or value)
            elif word == "endif" and opened:
                is_on, _ = opened.pop()
            elif is_on:
                self._read(word, token.text, depth)

    def _read(self, word: str, line: str, depth: int) -> None:
        if word == "include" and (found := _INCLUDE.match(line)) and found[1] in self._headers:
            self._follow(found[1], self._headers[found[1]], depth + 1)
        elif word == "define" and (made := _DEFINE.match(line)):
            self._macros[made[1]] = None if made[2] else re.sub(r"//.*|/\*.*?\*/|\\\n", " ", made[3]).strip()
        elif word == "undef":
            self._macros.pop(line.split()[-1], None)

    def _value(self, word: str, line: str) -> bool | None:
        rest = re.sub(r"//.*|/\*.*?\*/|\\\n", " ", line.partition(directive(line))[2])
        if word in ("ifdef", "ifndef"):
            return (rest.split()[:1] or [""])[0] in self._macros if word == "ifdef" else (
                (rest.split()[:1] or [""])[0] not in self._macros
            )  # fmt: skip
        text = _DEFINED.sub(lambda found: str(int((found[1] or found[2]) in self._macros)), rest)
        for _ in range(8):
            replaced = re.sub(r"\b[A-Za-z_]\w*", self._expanded, text)
            if replaced == text:
                break
            text = replaced
        text = _NUMBER.sub(lambda found: str(int(found[1], 16 if found[1][:2] in ("0x", "0X") else 10)), text)
        text = re.sub(r"!(?!=)", " not ", text.replace("&&", " and ").replace("||", " or ")).replace("/", "//")
        if len(text) > 2000 or not _PLAIN.fullmatch(text) or "<<" in text:
            return None
        try:
            return bool(eval(text.strip(), {"__builtins__": {}}))  # digits and operators alone
        except (SyntaxError, TypeError, ArithmeticError, ValueError, MemoryError, RecursionError):
            return None

    def _expanded(self, name: re.Match[str]) -> str:
        word = name[0]
        if word in ("not", "and", "or") or word.startswith("__has_"):
            return word
        if word not in self._macros:
            return {"true": "1"}.get(word, "0")
        value = self._macros[word]
        return word if value is None else f"({value or 0})"


def macro_words(texts: Iterable[str]) -> dict[str, set[str]]:
    """Return the words of each macro's text."""
    made: dict[str, set[str]] = {}
    for text in texts:
        for found in _ANY_DEFINE.finditer(text):
            words = made.setdefault(found[1], set())
            words.update(re.findall(r"[A-Za-z_]\w*", found[2]))
    return made


def device_marks(words: Mapping[str, set[str]]) -> frozenset[str]:
    """Return the words that put a declaration on the device, with the macros that have them in their text."""
    marks = set(DEVICE_WORDS)
    while more := {name for name, inner in words.items() if name not in marks and not marks.isdisjoint(inner)}:
        marks |= more
    return frozenset(marks)
