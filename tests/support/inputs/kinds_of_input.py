"""The same data as each kind of input that there is."""

import io
import os
import threading

from converter.storage.opening import open_source

DATA = bytes(range(256)) * 3 + b"the end"
KINDS = ["bytes", "memory stream", "file object", "pipe", "path text", "path"]


def whole(source):
    return source.read(0, source.size)


def open_as(kind, data, tmp_path):
    """The same data as each kind of input that there is."""
    if kind == "bytes":
        return open_source(data)
    if kind == "memory stream":
        return open_source(io.BytesIO(data))
    path = tmp_path / "input"
    path.write_bytes(data)
    if kind == "file object":
        with open(path, "rb") as stream:
            return open_source(stream)
    if kind == "pipe":
        reading, writing = os.pipe()

        def feed():
            with open(writing, "wb") as stream:
                stream.write(data)

        thread = threading.Thread(target=feed)
        thread.start()
        with open(reading, "rb") as stream:
            source = open_source(stream)
        thread.join()
        return source
    return open_source(str(path) if kind == "path text" else path)
