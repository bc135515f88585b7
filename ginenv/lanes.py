"""What every structure of arrays shares: its first axis counts lanes, and lanes can be moved."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray


class Lanes:
    """A dataclass of arrays [B, ...]; fields that are no arrays hold for all lanes alike."""

    __slots__ = ()

    def copy(self) -> Self:
        """A copy that shares nothing with this one."""
        return self._map(lambda column: column.copy())

    def take(self, lanes: NDArray[np.intp]) -> Self:
        """A copy of some lanes."""
        return self._map(lambda column: column[lanes])

    @classmethod
    def join(cls, parts: Sequence[Self]) -> Self:
        """All lanes of several, one after another; what holds for all lanes is the first's."""
        values = (
            np.concatenate([getattr(part, name) for part in parts])
            if is_column
            else getattr(parts[0], name)
            for name, is_column in _fields(cls)
        )
        return cls(*values)

    def put(self, lanes: NDArray[np.intp], other: Self) -> None:
        """Replace these lanes by the lanes of ``other``, in order."""
        for name, is_column in _fields(self.__class__):
            if is_column:
                getattr(self, name)[lanes] = getattr(other, name)

    def _map(self, change: Callable[[Any], Any]) -> Self:
        values = ((getattr(self, name), is_column) for name, is_column in _fields(self.__class__))
        return type(self)(*(change(value) if column else value for value, column in values))


def _fields(kind: Any) -> tuple[tuple[str, bool], ...]:
    """Names of the fields in order, and whether each is an array."""
    return _cached_fields(kind)


@cache
def _cached_fields(kind: Any) -> tuple[tuple[str, bool], ...]:
    fields = dataclasses.fields(kind)
    return tuple((field.name, str(field.type).startswith("NDArray")) for field in fields)


def columns(kind: Any) -> tuple[str, ...]:
    """Names of the arrays of such a class, in order."""
    return tuple(name for name, is_column in _fields(kind) if is_column)
