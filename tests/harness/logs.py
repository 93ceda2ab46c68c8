"""Flips bits in the server's files as a disk does, and finds the parts of a log that is filled ahead (docs/formats/wal.md)."""

import collections
import os
import pathlib
import struct

FILL = 0xf5
MAGIC = b"fathomWA"
MARK = struct.Struct("<8s4Q")  # magic, log, salt, records_end, hash

Filled = collections.namedtuple("Filled", "records_end mark_begin")  # the fill is between them


def flip_bit(path, bit):
    """The file keeps its time of modification."""
    times = path.stat()
    with open(path, "r+b") as file:
        file.seek(bit // 8)
        byte = file.read(1)[0]
        file.seek(bit // 8)
        file.write(bytes([byte ^ 1 << bit % 8]))
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))


def flip_batch_of(data, trace):
    """Flips one bit of the batch that brought a trace, in the logs of the data directory."""
    for log in pathlib.Path(data, "store").glob("*.log"):
        at = log.read_bytes().find(bytes.fromhex(trace))
        if at >= 0:
            return flip_bit(log, 8 * at)
    raise AssertionError("the trace is in no log")


def newest_log(data):
    return max(pathlib.Path(data, "store").glob("*.log"))


def filled(path):
    """Where the fill of a log is, or None if the log has no end mark."""
    content = path.read_bytes()
    begin = len(content) - MARK.size
    if begin < 0 or not content.startswith(MAGIC, begin):
        return None
    records_end = MARK.unpack_from(content, begin)[3]
    assert set(content[records_end:begin]) <= {FILL}, f"{path} has other bytes than fill behind its records"
    return Filled(records_end, begin)
