"""Random structs, as hypothesis draws them."""

from types import new_class
from typing import Any

from hypothesis import strategies as st

from warploom.engine.types import NAMED, DType, Struct, fixed_array


def make_struct(name: str, values: dict[str, Any] | None = None, **fields: Any) -> Any:
    """Define a struct with these fields; `values` are assigned in their declarations."""
    return new_class(name, (Struct,), {}, lambda body: body.update(values or {}, __annotations__=fields))


def fields_of(types: list[DType]) -> st.SearchStrategy[list[tuple[DType, tuple[int, ...]]]]:
    """Draw the fields of a struct: an element type and the shape of an array of it, with () for a single element."""
    return st.lists(
        st.tuples(st.sampled_from(types), st.lists(st.integers(1, 3), max_size=2).map(tuple)), min_size=1, max_size=7
    )


def struct_of(name: str, fields: list[tuple[DType, tuple[int, ...]]]) -> Any:
    """Define the struct whose fields were drawn, called field_0 and so on."""
    names = [f"field_{index}" for index in range(len(fields))]
    values = {n: fixed_array(*dims) for n, (_, dims) in zip(names, fields, strict=True) if dims}
    return make_struct(name, values, **{n: dtype for n, (dtype, _) in zip(names, fields, strict=True)})


ALL_TYPES = list(NAMED.values())
