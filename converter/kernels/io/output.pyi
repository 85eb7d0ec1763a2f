class Blocks:
    """The blocks of an emitter; other kernels use them."""

class Block:
    """A block of output: a buffer that nobody writes to, whose memory is used again when the last reference goes."""

    def __buffer__(self, flags: int, /) -> memoryview: ...
