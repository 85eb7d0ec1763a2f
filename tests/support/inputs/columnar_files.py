"""Files of Arrow's formats, in memory."""

from converter.registry import format_named
from converter.storage.opening import open_source
from converter.storage.sink import BufferSink

FILES = ["parquet", "arrow", "arrow+stream"]


def written(trace, name):
    format, variant = format_named(name)
    sink = BufferSink()
    format.writer()(trace, sink, variant)
    return sink.getvalue()


def opened(data, name):
    return format_named(name)[0].reader()(open_source(data))
