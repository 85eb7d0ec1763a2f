"""Makes perf.data files record by record, in either byte order."""

from __future__ import annotations

import struct

IP, TID, TIME, ADDR, READ, CALLCHAIN, ID, CPU, PERIOD, STREAM_ID, RAW = (1 << i for i in range(11))
IDENTIFIER = 1 << 16
SAMPLE_ID_ALL = 1 << 18
FREQ = 1 << 10
#: Records.
MMAP, LOST, COMM, EXIT, THROTTLE, UNTHROTTLE, FORK, READ_RECORD, SAMPLE, MMAP2 = range(1, 11)
FINISHED_ROUND, ATTR, FEATURE, COMPRESSED, AUXTRACE = 68, 64, 80, 81, 71
KERNEL_MARK, USER_MARK = (1 << 64) - 128, (1 << 64) - 512
KERNEL, USER = 1, 2
EXEC = 1 << 13


class Maker:
    """Makes parts of files in a byte order."""

    def __init__(self, order="<"):
        self.order = order

    def pack(self, form, *values):
        return struct.pack(self.order + form, *values)

    def attribute(self, sample_type, *, kind=1, config=0, size=128, flags=SAMPLE_ID_ALL, **more):
        """An attribute; in big-endian ones the first flag is the uppermost bit."""
        if self.order == ">":
            flags = int(f"{flags:064b}"[::-1], 2)
        period, form = more.get("period", 1), more.get("read_format", 0)
        data = self.pack("IIQQQQQ", kind, size, config, period, sample_type, form, flags)
        data += self.pack("IIQQQ", 0, 0, 0, 0, more.get("branches", 0))
        registers = more.get("registers", 0)
        data += self.pack("QIIQ", registers, 0, more.get("clock", 0), registers)
        return data.ljust(size, b"\0")[:size]

    def record(self, kind, body=b"", misc=0):
        return self.pack("IHH", kind, misc, 8 + len(body)) + body

    def words(self, *values):
        return self.pack(f"{len(values)}Q", *values)

    def task(self, pid, tid):
        return self.pack("ii", pid, tid)

    def text(self, text):
        return text + bytes(8 - len(text) % 8)

    def comm(self, pid, tid, name, end=b"", misc=0):
        return self.record(COMM, self.task(pid, tid) + self.text(name) + end, misc)

    def mmap(self, pid, start, size, offset, name, end=b"", misc=USER):
        body = self.task(pid, pid) + self.words(start, size, offset) + self.text(name) + end
        return self.record(MMAP, body, misc)

    def file(self, events, records, features=None, *, version=2):
        """A file of events (each an attribute and a list of ids), records and features by bit."""
        features = features or {}
        magic = b"PERFFILE" if version == 1 else b"PERFILE2" if self.order == "<" else b"2ELIFREP"
        at = 104
        entries, ids = b"", b""
        width = (len(events[0][0]) if events else 128) + 16
        ids_at = at + width * len(events)
        for attribute, numbers in events:
            entries += attribute + self.words(ids_at + len(ids), 8 * len(numbers))
            ids += self.words(*numbers)
        start = ids_at + len(ids)
        end = start + len(records)
        place = end + 16 * len(features)
        table, data = b"", b""
        for _, feature in sorted(features.items()):
            table += self.words(place + len(data), len(feature))
            data += feature
        bits = sum(1 << bit for bit in features)
        header = magic + self.words(104, width, at, width * len(events), start, len(records), 0, 0)
        header += self.words(*((bits >> 64 * i) & (1 << 64) - 1 for i in range(4)))
        return header + entries + ids + records + table + data

    def pipe(self, records):
        magic = b"PERFILE2" if self.order == "<" else b"2ELIFREP"
        return magic + self.words(16) + records

    def sample(self, ts, pid=1, tid=1, ip=0x1000, period=1, chain=None):
        """A sample of IP, TID, TIME, PERIOD and perhaps CALLCHAIN."""
        body = self.words(ip) + self.task(pid, tid) + self.words(ts, period)
        if chain is not None:
            body += self.words(len(chain), *chain)
        return self.record(SAMPLE, body, USER)


#: The parts of `Maker.sample`.
USUAL = IP | TID | TIME | PERIOD
