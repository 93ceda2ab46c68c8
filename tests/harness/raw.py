"""Sockets without manners: bytes of any kind to a port, and what came back."""

import pathlib
import resource
import socket
import struct
import time


def endpoint(address):
    host, _, port = address.rpartition(":")
    return host.strip("[]"), int(port)


def connect(address, timeout=30):
    return socket.create_connection(endpoint(address), timeout=timeout)


def drain(connection):
    """All that the peer says until it closes, resets, or is silent for the socket's timeout."""
    said = b""
    try:
        while True:
            more = connection.recv(65536)
            if not more:
                return said
            said += more
    except OSError:
        return said


def poke(address, data, timeout=30, half_close=True):
    """Sends bytes, closes our half, and gives back what the peer said."""
    with connect(address, timeout) as connection:
        try:
            connection.sendall(data)
            if half_close:
                connection.shutdown(socket.SHUT_WR)
        except OSError:
            pass  # the peer had enough before we were done, which is its right
        return drain(connection)


def leave(connection):
    """Goes away at once: the peer sees a reset, not an end."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


def status_of(answer):
    """Of an HTTP answer's first line; 0 when there is none."""
    words = answer.split(b" ", 2)
    return int(words[1]) if answer.startswith(b"HTTP/1.") and len(words) > 1 and words[1].isdigit() else 0


def until_closed(connection, limit):
    """(how many seconds the peer still keeps this connection, what it says meanwhile)."""
    begin = time.monotonic()
    connection.settimeout(limit)
    said = b""
    try:
        while more := connection.recv(65536):
            said += more
    except TimeoutError:
        return float("inf"), said
    except OSError:
        pass
    return time.monotonic() - begin, said


def peers_of(address):
    """The ports that are connected to a port of 127.0.0.1, or were a moment ago; our own ends, which are always IPv4."""
    _, port = endpoint(address)
    rows = (line.split() for line in pathlib.Path("/proc/net/tcp").read_text(encoding="ascii").splitlines()[1:])
    ends = (tuple(int(end.rpartition(":")[2], 16) for end in row[1:3]) for row in rows)
    return {own for own, other in ends if other == port}


def allow_open_files(count):
    """Raises this process's own limit; False when the system does not permit so many."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft >= count:
        return True
    if hard != resource.RLIM_INFINITY and hard < count:
        return False
    resource.setrlimit(resource.RLIMIT_NOFILE, (count, hard))
    return True
