from typing import Any

from numpy import dtype, int32, int64, uint8, uint32
from numpy.typing import NDArray

from converter.kernels.batches.columns import HeldBuffers
from converter.kernels.tables.strings import StringTable

class Segments(HeldBuffers):
    """The buffers in which a batch's records lie, kept alive; a location is ``segment << 32 | offset``.

    All methods release the GIL, and raise ValueError when columns differ in length. Locations outside their segment
    and fields outside their record read as zero or as nothing.
    """

    def integers(
        self,
        location: NDArray[int64],
        size: NDArray[uint32],
        offset: int,
        width: int,
        big_endian: bool,
        out: NDArray[uint8],
    ) -> None:
        """The integers of `width` bytes (1, 2, 4, 8) at `offset` of each record, in the host's order, into `out`."""
    def all_integers(
        self,
        location: NDArray[int64],
        size: NDArray[uint32],
        places: NDArray[int64],
        big_endian: bool,
        outs: list[NDArray[Any]],
    ) -> None:
        """Several of them at once: `places` (shape (n, 2)) are offset and width of each, `outs` what they go into.

        A record is fetched from memory once for all of its integers.
        """
    def gathered(
        self,
        location: NDArray[int64],
        size: NDArray[uint32],
        places: NDArray[int64],
        big_endian: bool,
        dtypes: list[dtype[Any]],
    ) -> list[NDArray[Any]]:
        """As `all_integers`, in new columns of these types."""
    def gathered_with_texts(
        self,
        location: NDArray[int64],
        size: NDArray[uint32],
        places: NDArray[int64],
        texts: NDArray[int64],
        strings: StringTable,
        big_endian: bool,
        dtypes: list[dtype[Any]],
    ) -> list[NDArray[Any]]:
        """The same as `gathered`, and after these columns the ids of texts, up to their first NUL, in the same pass.

        `texts` (shape (n, 4)) are offset and length of each (-1: to the record's end), how many bytes the data location
        at that offset has that says where the text is (0: it is there; 2, 4), and whether that counts from its own end.
        """
    def missed_counts(
        self, location: NDArray[int64], size: NDArray[uint32], big_endian: bool, out: NDArray[int64]
    ) -> None:
        """The count that each record of 4 or 8 bytes is; -1 for an empty one."""
    def fixed_spans(
        self,
        location: NDArray[int64],
        size: NDArray[uint32],
        offset: int,
        length: int,
        span: NDArray[int64],
        span_size: NDArray[int64],
    ) -> None:
        """Location and size of the `length` bytes (-1: all that follow) at `offset` of each record."""
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
    ) -> None:
        """Location and size of what each record's data location at `offset` names.

        Of 4 bytes it is ``length << 16 | place``, of 2 bytes the place alone; the place counts from the record's start
        or, if `relative`, from the data location's end.
        """
    def intern(
        self,
        span: NDArray[int64],
        span_size: NDArray[int64],
        strings: StringTable,
        ids: NDArray[int32],
    ) -> None:
        """Intern each span, cut at its first NUL."""
    def measure(
        self,
        span: NDArray[int64],
        span_size: NDArray[int64],
        until_nul: bool,
        multiple_of: int,
        offsets: NDArray[int64],
    ) -> None:
        """The offsets (n + 1) of the spans laid end to end, each cut at its first NUL if asked, and to a multiple."""
    def copy(self, span: NDArray[int64], offsets: NDArray[int64], out: NDArray[uint8]) -> None:
        """Copy span i to ``out[offsets[i]:offsets[i + 1]]``; ValueError for one outside its segment."""
