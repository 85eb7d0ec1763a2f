# cython: language_level=3, boundscheck=False, wraparound=False
"""Conversions of columns that do nothing for most batches; the others are left to callers that know all types."""

# Stub:
# from collections.abc import Callable
# from numpy import dtype
# from converter.ir.columns import Column
# from converter.kernels.tables.strings import StringTable

from numpy import ndarray

from converter.kernels.tables.strings cimport StringTable


cdef class Widened:
    """A computation that makes integers of the type `wide` of those of the type `own`, and of any other column what
    `convert` makes of it.
    """

    cdef object _own
    cdef object _wide
    cdef object _convert

    def __cinit__(self, own: dtype[Any], wide: dtype[Any], convert: Callable[[Any, Column], Column]):
        self._own = own
        self._wide = wide
        self._convert = convert

    def __call__(self, context, column: Column) -> Column:
        if isinstance(column, ndarray):
            dtype = column.dtype
            # Arrays of one type mostly share the object that says so.
            if dtype is self._own or dtype == self._own:
                return column.astype(self._wide, copy=False)
        return self._convert(context, column)


cdef class TextsThatFit:
    """A computation that leaves ids of texts as they are where all are UTF-8, if asked, and no longer than `limit`
    bytes; of any other column it makes what `convert` makes of it.
    """

    cdef StringTable _strings
    cdef int _limit
    cdef bint _utf8_only
    cdef object _convert

    def __cinit__(
        self, StringTable strings not None, limit: int | None, bint utf8_only, convert: Callable[[Any, Column], Column]
    ):
        self._strings = strings
        self._limit = -1 if limit is None else limit
        self._utf8_only = utf8_only
        self._convert = convert

    def __call__(self, context, column: Column) -> Column:
        if isinstance(column, ndarray) and not len(self._strings.unfit(column, self._limit, self._utf8_only)):
            return column
        return self._convert(context, column)
