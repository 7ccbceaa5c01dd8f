"""Everything that is sent over a pipe decodes to an equal value."""

import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as st_numpy

from tests.fuzzing import many
from warploom.engine.blocktypes.parameters import UserArray
from warploom.engine.device.external import describe_external
from warploom.engine.diagnostics import DeviceError, Diagnostic, Severity, WarploomError
from warploom.engine.patch.changes import Change, Node, NodeAdded, ParameterChanged, PortRef
from warploom.engine.profiling.trace import TraceSlice
from warploom.engine.protocol.child.encoding import FromEngine, ToEngine, encode, make_decoder
from warploom.engine.protocol.messages import Message, SetKernelTimeLimit, check_message
from warploom.engine.protocol.pacing import Pacing, PacingMode
from warploom.engine.protocol.questions import AnyQuestion, Question
from warploom.engine.protocol.sampling import Reduction, Sampling, picture_of

#: There are a hundred kinds of messages, so each has few examples.
of_each_kind = settings(max_examples=many(12))

ARRAYS = st_numpy.arrays(
    st.sampled_from(["?", "i1", "u1", "<i4", "<u8", "<f2", "<f4", "<f8", "<c8", [("at", "<f4", (3,)), ("id", "<i8")]]),
    st_numpy.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4),
)
DTYPES = st.sampled_from([np.dtype("<f4"), np.dtype("?"), np.dtype([("at", "<f4", (3,)), ("id", "<i8")])])
INTEGERS = st.integers(-(2**63), 2**64 - 1)  # the range of msgpack
PATHS = st.lists(st.text(st.characters(exclude_characters="/\0", codec="utf-8"), min_size=1), max_size=3).map(
    lambda parts: Path(*parts)
)
#: The values that a parameter may have: numbers, switches, texts, paths and arrays, but no user memory.
VALUES = st.one_of(st.none(), st.booleans(), INTEGERS, st.floats(), st.text(), PATHS, ARRAYS, st.just(UserArray()))
RATES = st.floats(min_value=0, exclude_min=True, allow_infinity=False)

st.register_type_strategy(int, INTEGERS)
st.register_type_strategy(Path, PATHS)
st.register_type_strategy(np.ndarray, ARRAYS)
st.register_type_strategy(msgspec.Raw, st.builds(lambda value: msgspec.Raw(encode(value)), VALUES))
st.register_type_strategy(
    Pacing, st.just(Pacing.free()) | st.builds(Pacing, st.sampled_from([PacingMode.FIXED, PacingMode.DISPLAY]), RATES)
)
st.register_type_strategy(SetKernelTimeLimit, st.builds(SetKernelTimeLimit, st.none() | RATES))
INDICES = st.lists(st.integers(0, 2**62), max_size=3).map(tuple)
PIXELS = st.tuples(st.integers(0, 2**62), st.integers(0, 2**62))
st.register_type_strategy(
    Sampling,
    st.builds(
        picture_of,
        st.text(),
        st.just(()) | PIXELS.map(lambda size: (size[0] + 1, size[1] + 1)),
        st.none() | RATES,
        st.none() | PIXELS,
    )
    | st.builds(
        Sampling,
        st.builds(PortRef, st.text(), st.text()),
        st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=3).map(tuple),
        INDICES.map(lambda sizes: tuple(size + 1 for size in sizes)),
        st.sampled_from([each for each in Reduction if each is not Reduction.PICTURE]),
        st.text(),
        st.none() | INDICES,
        st.integers(0, 4096),
        st.none() | RATES,
        st.booleans(),
    ),
)
#: Types whose fields refuse some values of the right type.
CHECKED = (Pacing, SetKernelTimeLimit, Sampling)


@cache
def of_type(kind: Any) -> st.SearchStrategy[Any]:
    """Return one strategy for a field's type; `Any` stands for the values of parameters."""
    if kind is Any:
        return VALUES
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct) and kind not in CHECKED:
        return st.builds(kind, **{field.name: of_type(field.type) for field in msgspec.structs.fields(kind)})
    if is_dataclass(kind):
        return st.builds(kind, **{name: of_type(hint) for name, hint in get_type_hints(kind).items()})
    arguments = get_args(kind)
    if get_origin(kind) is Annotated:
        if arguments[1].le is not None:
            return st.floats(arguments[1].ge, arguments[1].le)
        return of_type(arguments[0]).filter(lambda value: value >= arguments[1].ge)
    if get_origin(kind) is Union:
        return st.one_of(*map(of_type, arguments))
    origin = getattr(kind, "__origin__", None)
    if origin is dict or origin is Mapping:
        return st.dictionaries(of_type(arguments[0]), of_type(arguments[1]), max_size=3)
    if origin is tuple and arguments[-1] is ...:
        return st.lists(of_type(arguments[0]), max_size=3).map(tuple)
    if origin is tuple:
        return st.tuples(*map(of_type, arguments))
    if origin in (list, frozenset):
        return st.lists(of_type(arguments[0]), max_size=3).map(origin)
    if arguments and origin is None:  # a union
        return st.one_of(*map(of_type, arguments))
    return st.from_type(origin or kind)


def same(a: Any, b: Any) -> bool:
    """Return whether two values have equal types and contents, arrays and NaN included."""
    if type(a) is not type(b):
        return False
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
    if isinstance(a, float):
        return a == b or (math.isnan(a) and math.isnan(b))
    if isinstance(a, msgspec.Struct):
        return all(same(getattr(a, name), getattr(b, name)) for name in a.__struct_fields__)
    if is_dataclass(a):
        return all(same(getattr(a, field.name), getattr(b, field.name)) for field in fields(a))
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, UserArray):
        return a.array is b.array is None
    return bool(a == b)


def every(union: Any) -> list[type]:
    """Return the members of a union."""
    return list(get_args(union))


@pytest.mark.parametrize("kind", every(ToEngine), ids=lambda kind: kind.__name__)
@of_each_kind
@given(data=st.data())
def test_everything_to_the_engine_decodes_as_it_was(kind: type[msgspec.Struct], data: st.DataObject) -> None:
    """Every message and question, with every value of its fields, decodes as an equal one."""
    message = data.draw(of_type(kind))
    assert same(make_decoder(ToEngine).decode(encode(message)), message)


@pytest.mark.parametrize("kind", every(FromEngine), ids=lambda kind: kind.__name__)
@of_each_kind
@given(data=st.data())
def test_everything_from_the_engine_decodes_as_it_was(kind: type[msgspec.Struct], data: st.DataObject) -> None:
    """Reports, pictures, events and answers decode as equal ones."""
    message = data.draw(of_type(kind))
    decoded = make_decoder(FromEngine).decode(encode(message))
    if hasattr(message, "answer"):  # a copy of the bytes, which are encoded unchanged
        assert bytes(decoded.answer) == bytes(message.answer)
    else:
        assert same(decoded, message)


@pytest.mark.parametrize("kind", every(AnyQuestion), ids=lambda kind: kind.__name__)
@of_each_kind
@given(data=st.data())
def test_an_answer_decodes_as_the_type_that_its_question_names(kind: type[Question[Any]], data: st.DataObject) -> None:
    """Each kind of answer decodes as an equal value of the type that its question names."""
    answer_type = kind.answer_type()
    answer = data.draw(st.none() if answer_type is type(None) else of_type(answer_type))
    assert same(make_decoder(answer_type).decode(encode(answer)), answer)


def test_every_message_has_a_tag_of_its_own() -> None:
    """Messages, questions and reports have different tags."""
    kinds = [*every(ToEngine), *every(FromEngine), *every(AnyQuestion)]
    tags = [kind.__struct_config__.tag for kind in kinds]
    assert None not in tags
    assert len(set(tags)) == len(set(kinds))
    assert set(every(Change)) < set(every(Message)) < set(every(ToEngine))


@pytest.mark.parametrize("field", ["message", "remedy", "expected", "found"])
def test_a_problem_with_a_file_whose_name_is_no_utf8_has_an_encoding(field: str) -> None:
    """Half a surrogate pair, as of such a name, is escaped in each text of a diagnostic."""
    problem = Diagnostic(severity=Severity.ERROR, **({"message": ""} | {field: "ä\udcff"}))
    told = make_decoder(Diagnostic).decode(encode(problem))
    assert told == problem and getattr(told, field) == r"ä\udcff"


def test_a_dtype_has_an_encoding() -> None:
    """An encoded dtype includes the padding of a struct."""
    padded = np.dtype({"names": ["a", "b"], "formats": ["u1", "<f8"], "offsets": [0, 8], "itemsize": 24})
    decoded = make_decoder(np.dtype).decode(encode(padded))
    assert decoded == padded
    assert (decoded.itemsize, decoded.fields["b"][1]) == (24, 8)


def test_memory_of_the_users_own_stays_where_it_is() -> None:
    """User memory of another process is refused when a block uses the memory, and not when it is decoded."""
    change = ParameterChanged("mine", "array", UserArray(np.zeros(3)), None)
    decoded = make_decoder(ToEngine).decode(encode(change))
    assert isinstance(decoded, ParameterChanged)
    with pytest.raises(DeviceError, match=r"must share its memory, got one in another process .*use io\.array"):
        describe_external(decoded.value.array)


@pytest.mark.parametrize("value", [object(), 2**64, np.array([object()])])
def test_a_value_without_an_encoding_is_refused_by_name(value: object) -> None:
    """A value without an encoding is refused, with the parameter's name."""
    with pytest.raises(WarploomError, match="gain of amp must be encodable for an engine in another process"):
        encode(ParameterChanged("amp", "gain", value, None))
    with pytest.raises(WarploomError, match="must be encodable"):
        encode(NodeAdded(Node(id="amp", type="a", parameters={"gain": value})))


def test_invalid_messages_are_refused() -> None:
    """Unknown tags, wrong types and broken bytes raise msgspec's own error."""
    decoder = make_decoder(ToEngine)
    for wrong in ({"type": "Nothing"}, {"type": "SetInput", "name": 3, "value": 1.0}, [1, 2]):
        with pytest.raises(msgspec.ValidationError):
            decoder.decode(encode(wrong))
    with pytest.raises(msgspec.DecodeError):
        decoder.decode(encode(TraceSlice("a", "b", 0, 1))[:-1])


@pytest.mark.parametrize("kind", get_args(Message))
@of_each_kind
@given(data=st.data())
def test_a_message_is_checked_as_the_decoder_checks_it(kind: type[msgspec.Struct], data: st.DataObject) -> None:
    """A message that the check accepts is decoded, and a refusal of another value names the field."""
    message = data.draw(of_type(kind))
    check_message(message)
    if kind.__struct_fields__:
        field = data.draw(st.sampled_from(kind.__struct_fields__))
        value = data.draw(VALUES)
        try:
            message = msgspec.structs.replace(message, **{field: value})
            check_message(message)
        except DeviceError as refused:  # refused by the message's own constructor
            assert field in str(refused)
        except WarploomError as refused:
            assert field in str(refused)
            assert kind.__name__ in str(refused)
        else:
            make_decoder(ToEngine).decode(encode(message))
