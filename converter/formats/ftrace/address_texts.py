"""Addresses of networks, devices and file systems from other formats, as the kernel's events have them.

The kernel's record has bytes, which are read as the text that its `print fmt` makes of them (`addresses`). Other
formats have such texts, the bytes, or (Perfetto) the number that four bytes are in a little-endian machine's memory.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from converter.formats.ftrace.event_format.addresses import AddressForm, address_suffixes
from converter.formats.ftrace.kernel_formats import kernel_format
from converter.ir.columns import Column, ListColumn, string_ids
from converter.ir.distinct_values import map_distinct
from converter.ir.events import EventClass
from converter.ir.field_classes import ArrayClass, BytesClass, FieldClass, IntegerClass, StringClass
from converter.kernels.tables.strings import StringTable
from converter.projection.capabilities import Projection
from converter.projection.engine.partitions import Partition

#: The sizes of addresses that are also recorded as one number.
_NUMBERS: Final = (4, 8)


@cache
def address_forms(point: tuple[str, str]) -> dict[str, AddressForm]:
    """Return the fields of a kernel's event that are addresses, with the form of each."""
    format = kernel_format(*point)
    if format is None:
        return {}
    forms = {}
    for name, suffix in address_suffixes(format).items():
        declared = format.field(name)
        assert declared is not None
        forms[name] = AddressForm(suffix, declared.size, big_endian=False)
    return forms


def with_addresses(
    partition: Partition, projection: Projection, forms: dict[str, AddressForm]
) -> Partition:
    """Convert the addresses of a kernel's event to the texts that its format prints.

    A value that is no address becomes one of zeros, and is counted.
    """
    fields = partition.event_class.fields
    found = [
        (index, forms[field.name])
        for index, field in enumerate(fields)
        if field.name in forms and _may_be_address(field.type)
    ]
    if not found or projection.is_own:
        return partition
    columns = partition.lazy_columns()
    for index, form in found:
        columns[index] = _converted(partition, projection, index, form)
    if all(isinstance(fields[index].type, StringClass) for index, _ in found):
        return partition.rewritten(partition.event_class, columns)

    def declared() -> EventClass:
        texts = list(fields)
        for index, _ in found:
            texts[index] = replace(texts[index], type=StringClass())
        return replace(partition.event_class, fields=tuple(texts))

    return partition.rewritten(partition.derive(("addresses",), declared), columns)


def _may_be_address(field_class: FieldClass) -> bool:
    match field_class:
        case StringClass() | BytesClass() | IntegerClass():
            return True
        case ArrayClass(IntegerClass() as element):
            return element.dtype.itemsize == 1
    return False


class _Addresses:
    """The address texts of a partition's field, which are made from the field's distinct values."""

    def __init__(self, form: AddressForm, strings: StringTable) -> None:
        self._form = form
        self._strings = strings
        #: The ids of values that are no address.
        self.wrong: set[int] = set()

    def of_text(self, id: int) -> int:
        """Return the id of the text in the format's own spelling."""
        return self._made(id, self._form.packed_or_none(self._strings[id]))

    def of_bytes(self, id: int, memory: bytes) -> int:
        """Return the id of the text of an address in memory."""
        fits = len(memory) == self._form.size or self._form.is_socket
        return self._made(id, memory if fits else None)

    def of_number(self, number: int) -> int:
        """Return the id of the text of the address whose bytes are a little-endian number."""
        size = self._form.size
        fits = size in _NUMBERS and 0 <= number < 1 << 8 * size
        return self._made(number, number.to_bytes(size, "little") if fits else None)

    def _made(self, id: int, memory: bytes | None) -> int:
        if memory is None:
            self.wrong.add(id)
            memory = bytes(self._form.size)
        return self._strings.intern(self._form.text(memory))


def _converted(
    partition: Partition, projection: Projection, index: int, form: AddressForm
) -> Callable[[], Column]:
    field = partition.event_class.fields[index]

    def texts() -> Column:
        strings = projection.source.strings
        addresses = _Addresses(form, strings)
        source = partition.table.column(index)
        numbers: NDArray[np.generic]
        if isinstance(field.type, StringClass):
            numbers = string_ids(source, strings)
            result = map_distinct(numbers, addresses.of_text)
        elif isinstance(source, ListColumn):
            assert isinstance(source.values, np.ndarray)
            known = StringTable()
            dtype = source.values.dtype.newbyteorder("<")
            values = np.ascontiguousarray(source.values, dtype).view(np.uint8)
            numbers = string_ids(ListColumn(source.offsets, values), known)
            result = map_distinct(numbers, lambda id: addresses.of_bytes(id, known[id]))
        else:
            assert isinstance(source, np.ndarray)
            numbers = source
            result = map_distinct(numbers, addresses.of_number)
        if addresses.wrong:
            wrong = np.isin(numbers, list(addresses.wrong))
            projection.lose("address-invalid", partition, rows=wrong, field=field.name)
        return result

    return texts
