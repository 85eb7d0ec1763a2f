# cython: language_level=3, boundscheck=False, wraparound=False
"""Conversions of columns that do nothing for most batches; the others are left to callers that know all types."""

from numpy import ndarray

from converter.kernels.tables.strings cimport StringTable


cdef class Widened:
    cdef object _own
    cdef object _wide
    cdef object _convert

    def __cinit__(self, own, wide, convert):
        self._own = own
        self._wide = wide
        self._convert = convert

    def __call__(self, context, column):
        if isinstance(column, ndarray):
            dtype = column.dtype
            # Arrays of one type mostly share the object that says so.
            if dtype is self._own or dtype == self._own:
                return column.astype(self._wide, copy=False)
        return self._convert(context, column)


cdef class TextsThatFit:
    cdef StringTable _strings
    cdef int _limit
    cdef bint _utf8_only
    cdef object _convert

    def __cinit__(self, StringTable strings not None, limit, bint utf8_only, convert):
        self._strings = strings
        self._limit = -1 if limit is None else limit
        self._utf8_only = utf8_only
        self._convert = convert

    def __call__(self, context, column):
        if isinstance(column, ndarray) and not len(self._strings.unfit(column, self._limit, self._utf8_only)):
            return column
        return self._convert(context, column)
