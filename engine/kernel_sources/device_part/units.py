"""The declarations of a text of CUDA C++, found by their brackets, without the types that a compiler would know."""

import dataclasses
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import msgspec
from msgspec.structs import replace

from warploom.engine.kernel_sources.device_part.tokens import (
    Token,
    closing_token,
    directive,
    nesting,
    parts,
    tokens_of,
)

Role = Literal["function", "class", "variable", "other"]
#: Words that stand before parentheses and are no function's name.
_NOT_NAMES = frozenset(
    {
        *("__attribute__", "__launch_bounds__", "__align__", "alignas", "decltype", "noexcept", "__declspec", "throw"),
        *("if", "while", "for", "switch", "sizeof", "__block_size__", "__cluster_dims__", "__maxnreg__", "requires"),
        *("explicit", "asm", "__asm__"),
    }
)
#: The words that put a declaration on the device.
DEVICE_WORDS = frozenset({"__global__", "__device__", "__constant__", "__shared__", "__managed__"})
_CLASSES = ("struct", "class", "union")


@dataclass(frozen=True, eq=False)
class Unit:
    """A declaration: its tokens, and the indices in them where its head and its body begin.

    `head` is the place after `template <...>`. `body` is that of a function's `{`, of a constructor's list of members,
    or None. `scope` has the names of the namespaces and classes around, "" for a nameless one; `owner` is the class.
    """

    tokens: tuple[Token, ...] = field(repr=False)
    role: Role
    name: str
    scope: tuple[str, ...]
    head: int = 0
    body: int | None = None
    #: The index of a function's parameter list.
    list_at: int | None = None
    owner: "Unit | None" = field(default=None, repr=False)
    is_extern_c: bool = False
    #: `DEVICE_WORDS`, and the macros that stand for them.
    marks: frozenset[str] = field(default=DEVICE_WORDS, repr=False)

    @property
    def start(self) -> int:
        """The unit's place in the text."""
        return self.tokens[0].start

    @property
    def end(self) -> int:
        """The place after the unit."""
        return self.tokens[-1].end

    @cached_property
    def words(self) -> frozenset[str]:
        """All identifiers of the unit."""
        return frozenset(token.text for token in self.tokens if token.kind == "word")

    @cached_property
    def head_words(self) -> frozenset[str]:
        """The identifiers before the parameter list of a function, or before a class's body."""
        stop = self.list_at if self.list_at is not None else len(self.tokens) if self.body is None else self.body
        return frozenset(token.text for token in self.tokens[self.head : stop] if token.kind == "word")

    @property
    def is_kernel(self) -> bool:
        """True for a function that is `__global__`."""
        return self.role == "function" and "__global__" in self.head_words

    @property
    def is_template(self) -> bool:
        """True for `template <...>`, but not for an explicit instantiation."""
        return self.tokens[0].text == "template" and len(self.tokens) > 1 and self.tokens[1].text == "<"

    @property
    def is_specialisation(self) -> bool:
        """True for `template <>` and for a class with arguments such as `Traits<T*>`."""
        following = self.tokens[self.head :]
        named = [i for i, token in enumerate(following) if token.text == self.name]
        return self.is_template and (
            self.head == 3 or (self.role == "class" and bool(named) and following[named[0] + 1].text == "<")
        )

    @cached_property
    def is_device(self) -> bool:
        """True if some of it is for the device."""
        return not self.words.isdisjoint(self.marks)

    @property
    def name_at(self) -> int:
        """The index of a function's name."""
        assert self.list_at is not None
        return _name_at(self.tokens, self.list_at)

    def parameters(self) -> list[list[Token]]:
        """Return the tokens of each parameter of a function."""
        if self.list_at is None:
            return []
        inner = self.tokens[self.list_at + 1 : closing_token(self.tokens, self.list_at) - 1]
        found = parts(inner)
        return [] if len(found) == 1 and [token.text for token in found[0]] == ["void"] else found

    def template_parameters(self) -> list[list[Token]]:
        """Return the tokens of each template parameter."""
        return parts(self.tokens[2 : self.head - 1]) if self.is_template else []


class _Scope(msgspec.Struct, frozen=True):
    name: str | None  # None for `extern "C"`
    is_class: bool = False
    begun: int = 0


class _State(msgspec.Struct, frozen=True):
    """Where the scan is; a value, so that each branch of a conditional begins at the same one."""

    scopes: tuple[_Scope, ...] = ()
    start: int | None = None
    parens: int = 0
    braces: int = 0
    body: int | None = None
    is_initialised: bool = False


def units_of(text: str, tokens: Sequence[Token] | None = None, marks: frozenset[str] = DEVICE_WORDS) -> list[Unit]:
    """Return the declarations of a text in order: those of namespaces, and of classes after their members.

    `tokens` are those of the text that count, by default all. `marks` are the words for the device. Every branch of a
    conditional is read, and each begins where the first did.
    """
    tokens = tokens_of(text) if tokens is None else tokens
    found: list[Unit] = []
    state, waiting = _State(), list[_State]()
    for place, token in enumerate(tokens):
        if token.kind == "directive":
            word = directive(token.text)
            if nesting(word) > 0:
                waiting.append(state)
            elif word in ("else", "elif") and waiting:
                state = waiting[-1]
            elif word == "endif" and waiting:
                waiting.pop()
            continue
        if _is_call(tokens, place, state, text):
            state = _ended(tokens, place - 1, state, found)
        state = _step(tokens, place, state, found)
    if state.start is not None and not state.braces:
        _ended(tokens, len(tokens) - 1, state, found)
    return _owned(found, marks)


def _is_call(tokens: Sequence[Token], place: int, state: _State, text: str) -> bool:
    """True if a line ended before a token with a call of a macro that needs no semicolon."""
    start = state.start
    if start is None or state.braces or state.parens or tokens[place - 1].text != ")":
        return False
    unit = [token for token in tokens[start:place] if token.kind != "directive"]
    return (
        len(unit) > 2
        and unit[1].text == "("
        and re.fullmatch(r"[A-Z][A-Z0-9]*_\w+|[A-Z0-9]{4,}", unit[0].text) is not None
        and (tokens[place].kind == "word" or tokens[place].text == "}")
        and closing_token(unit, 1) == len(unit)
        and "\n" in text[unit[-1].end : tokens[place].start]
    )


def _step(tokens: Sequence[Token], place: int, state: _State, found: list[Unit]) -> _State:
    text = tokens[place].text
    if state.braces:  # inside a body or an initialiser
        braces = state.braces + (text == "{") - (text == "}")
        state = replace(state, braces=braces)
        if not braces and state.body is not None and not state.is_initialised:
            return _ended(tokens, place, state, found)
        return state
    if state.start is None:
        if text == ";":
            return state
        if text == "}":
            if not state.scopes:
                return state
            *outer, scope = state.scopes
            state = replace(state, scopes=tuple(outer))
            # A class goes on to its semicolon, since variables may follow.
            return replace(state, start=scope.begun, body=scope.begun) if scope.is_class else state
        if (
            text in ("public", "private", "protected")
            and tokens[place + 1 : place + 2]
            and tokens[place + 1].text == ":"
        ):
            return state
        if text == ":":
            return state
        state = replace(state, start=place)
    if text in "([":
        return replace(state, parens=state.parens + 1)
    if text in ")]":
        return replace(state, parens=max(state.parens - 1, 0))
    if state.parens:
        return state
    if text == "=" and "operator" not in [token.text for token in tokens[max(0, place - 3) : place]]:
        return replace(state, is_initialised=state.is_initialised or not _in_angles(tokens, state.start, place))
    if text == "{":
        return _opened(tokens, place, state)
    if text == ";":
        return _ended(tokens, place, state, found)
    return state


def _in_angles(tokens: Sequence[Token], start: int | None, place: int) -> bool:
    """True inside `template <...>`."""
    assert start is not None
    return tokens[start].text == "template" and place - start < _head(tokens[start : place + 1])


def _opened(tokens: Sequence[Token], place: int, state: _State) -> _State:
    assert state.start is not None
    unit = [token for token in tokens[state.start : place] if token.kind != "directive"]
    words = [token.text for token in unit]
    if state.is_initialised:
        return replace(state, braces=1)
    if "namespace" in words[:2]:
        names = [word for word in words if word not in ("inline", "namespace", "::")]
        scopes = tuple(_Scope(name) for name in [names[0] if names else ""])
        return _State((*state.scopes, *scopes))
    if words[:1] == ["extern"] and len(unit) == 2 and unit[1].kind == "text":
        return _State((*state.scopes, _Scope(None)))
    head = _head(unit)
    if any(word in _CLASSES for word in words[head:]) and _list_at(unit, head) is None and "enum" not in words:
        kept = replace(state, start=None)
        return replace(kept, scopes=(*state.scopes, _Scope(_class_name(unit, head), True, state.start)))
    if _list_at(unit, head) is None:  # an enum, or a variable with `{...}`
        return replace(state, braces=1, is_initialised=True)
    return replace(state, braces=1, body=place)


def _head(unit: Sequence[Token]) -> int:
    """Return the index after all `template <...>`."""
    head = 0
    while len(unit) > head + 1 and unit[head].text == "template" and unit[head + 1].text == "<":
        head = closing_token(unit, head + 1)
    return head


def _list_at(unit: Sequence[Token], head: int) -> int | None:
    """Return the index of a function's parameter list, the last parentheses after a name."""
    found, place = None, head
    while place < len(unit):
        token = unit[place]
        if token.text == ":" and found is not None:  # the list of members of a constructor follows
            break
        if token.text == "{":
            break
        if token.text == "(":
            before = unit[place - 1] if place > head else None
            is_name = before is not None and (before.kind == "word" and before.text not in _NOT_NAMES)
            is_name = is_name or (before is not None and before.text == ">" and unit[0].text == "template")
            if is_name or "operator" in [each.text for each in unit[max(head, place - 3) : place]]:
                found = place
            place = closing_token(unit, place)
            continue
        place += 1
    return found


def _class_name(unit: Sequence[Token], head: int) -> str:
    after = False
    place = head
    while place < len(unit):
        token = unit[place]
        if token.text == "(":
            place = closing_token(unit, place)
            continue
        if after and token.kind == "word" and token.text not in _NOT_NAMES:
            return token.text
        if after and token.text == ":":
            break
        after = after or token.text in _CLASSES
        place += 1
    return ""


def _ended(tokens: Sequence[Token], place: int, state: _State, found: list[Unit]) -> _State:
    assert state.start is not None
    unit = tuple(tokens[state.start : place + 1])
    head = _head(unit)
    scope = tuple(each.name for each in state.scopes if each.name is not None)
    is_extern_c = any(each.name is None for each in state.scopes)
    after = _State(state.scopes)
    if head >= len(unit):  # a template whose list of parameters is never closed, for NVRTC to refuse
        found.append(Unit(unit, "other", "", scope, 0, None, None, None, is_extern_c))
        return after
    if state.body == state.start and any(token.text == "{" for token in unit):
        opened = next(i for i, token in enumerate(unit) if token.text == "{" and i >= head)
        name = unit[-2].text if unit[head].text == "typedef" else _class_name(unit[:opened], head)
        found.append(Unit(unit, "class", name, scope, head, opened, None, None))
        return after
    body = None if state.body is None else state.body - state.start
    words = [token.text for token in unit[head:]]
    if words[0] in ("using", "typedef", "static_assert", "friend", "enum") or (
        words[0] in _CLASSES and body is None and "(" not in words and "=" not in words and len(words) <= 3
    ):
        name = _typedef_name(unit, head)
        found.append(Unit(unit, "other", name, scope, head, None, None, None, is_extern_c))
        return after
    list_at = None if state.is_initialised else _list_at(unit, head)
    if list_at is None:
        found.append(Unit(unit, "variable", _variable_name(unit, head), scope, head, None, None, None, is_extern_c))
        return after
    name = unit[_name_at(unit, list_at)].text
    is_extern_c = is_extern_c or (words[0] == "extern" and len(unit) > head + 1 and unit[head + 1].kind == "text")
    opened_at = body
    if body is not None:  # with the list of members of a constructor
        follows = closing_token(unit, list_at)
        opened_at = next((i for i in range(follows, body) if unit[i].text == ":"), body)
    found.append(Unit(unit, "function", name, scope, head, opened_at, list_at, None, is_extern_c))
    return after


def _name_at(unit: Sequence[Token], list_at: int) -> int:
    """Return the index of a function's name, which the arguments of a template may follow."""
    place = list_at - 1
    if unit[place].text == ">":
        depth = 0
        while place and (depth := depth + (unit[place].text == ">") - (unit[place].text == "<")):
            place -= 1
        place -= 1
    return place


def _typedef_name(unit: Sequence[Token], head: int) -> str:
    words = [token.text for token in unit[head:] if token.kind == "word"]
    if words[0] in ("using", "enum", "struct", "class", "union"):
        return next((word for word in words[1:] if word not in _CLASSES), "")
    return words[-1]


def _variable_name(unit: Sequence[Token], head: int) -> str:
    """Return the name that stands before `[`, `=`, `{`, `,` or the end."""
    place = head
    while place < len(unit):
        if unit[place].text == "<":
            place = closing_token(unit, place)
        if place < len(unit) and unit[place].text in ("[", "=", "{", ",", ";", ":") and unit[place - 1].kind == "word":
            return unit[place - 1].text
        place += 1
    return ""


def _owned(found: Sequence[Unit], marks: frozenset[str]) -> list[Unit]:
    """Return the units with the classes that they are members of."""
    made: dict[int, Unit] = {}
    classes = [unit for unit in found if unit.role == "class"]
    # An outer class is longer than those in it, so it is made before they name it.
    for unit in sorted(found, key=lambda each: each.start - each.end):
        around = [each for each in classes if each is not unit and each.start <= unit.start and unit.end <= each.end]
        owner = min(around, key=lambda each: each.end - each.start) if around else None
        made[id(unit)] = dataclasses.replace(unit, owner=made[id(owner)] if owner is not None else None, marks=marks)
    return [made[id(unit)] for unit in found]
