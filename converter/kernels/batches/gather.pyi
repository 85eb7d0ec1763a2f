from typing import Any

from numpy import dtype, int32, int64, uint8, uint32
from numpy.typing import NDArray

from converter.kernels.batches.columns import HeldBuffers
from converter.kernels.tables.strings import StringTable

class Segments(HeldBuffers):
    def gathered(
        self,
        location: NDArray[int64],
        size: NDArray[uint32],
        places: NDArray[int64],
        big_endian: bool,
        dtypes: list[dtype[Any]],
    ) -> list[NDArray[Any]]: ...
    def gathered_with_texts(
        self,
        location: NDArray[int64],
        size: NDArray[uint32],
        places: NDArray[int64],
        texts: NDArray[int64],
        strings: StringTable,
        big_endian: bool,
        dtypes: list[dtype[Any]],
    ) -> list[NDArray[Any]]: ...
    def integers(
        self,
        location: NDArray[int64],
        size: NDArray[uint32],
        offset: int,
        width: int,
        big_endian: bool,
        out: NDArray[uint8],
    ) -> None: ...
    def all_integers(
        self,
        location: NDArray[int64],
        size: NDArray[uint32],
        places: NDArray[int64],
        big_endian: bool,
        outs: list[NDArray[Any]],
    ) -> None: ...
    def missed_counts(
        self, location: NDArray[int64], size: NDArray[uint32], big_endian: bool, out: NDArray[int64]
    ) -> None: ...
    def fixed_spans(
        self,
        location: NDArray[int64],
        size: NDArray[uint32],
        offset: int,
        length: int,
        span: NDArray[int64],
        span_size: NDArray[int64],
    ) -> None: ...
    def dynamic_spans(
        self,
        location: NDArray[int64],
        size: NDArray[uint32],
        offset: int,
        width: int,
        relative: bool,
        big_endian: bool,
        span: NDArray[int64],
        span_size: NDArray[int64],
    ) -> None: ...
    def intern(
        self,
        span: NDArray[int64],
        span_size: NDArray[int64],
        strings: StringTable,
        ids: NDArray[int32],
    ) -> None: ...
    def measure(
        self,
        span: NDArray[int64],
        span_size: NDArray[int64],
        until_nul: bool,
        multiple_of: int,
        offsets: NDArray[int64],
    ) -> None: ...
    def copy(self, span: NDArray[int64], offsets: NDArray[int64], out: NDArray[uint8]) -> None: ...
