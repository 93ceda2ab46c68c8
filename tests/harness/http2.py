"""A connection of HTTP/2 as bad manners would have it: it begins calls, and then keeps alive without sending on."""

import time

from . import raw

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, SETTINGS, PING, GOAWAY = 0, 1, 4, 6, 7
ACK, END_HEADERS = 1, 4


def frame(kind, flags, stream, payload=b""):
    return len(payload).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + payload


def literal(text):
    """HPACK's string, not packed; of fewer than 127 bytes."""
    return bytes([len(text)]) + text.encode()


def header_block(fields):
    return b"".join(b"\x00" + literal(name) + literal(value) for name, value in fields)


class Connection:
    def __init__(self, address):
        self.socket = raw.connect(address)
        self.socket.sendall(PREFACE + frame(SETTINGS, 0, 0))
        self.pings = 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def begin_message(self, method, size):
        """A gRPC call on stream 1 whose message is announced, and does not come."""
        block = header_block([(":method", "POST"), (":scheme", "http"), (":path", method), (":authority", "x"),
                              ("content-type", "application/grpc"), ("te", "trailers")])
        prefix = b"\x00" + size.to_bytes(4, "big")
        self.socket.sendall(frame(HEADERS, END_HEADERS, 1, block) + frame(DATA, 0, 1, prefix))

    def seconds_until_closed(self, limit):
        """How long the peer keeps a connection that does nothing but acknowledge."""
        begin = time.monotonic()
        buffered = b""
        try:
            while (left := begin + limit - time.monotonic()) > 0:
                self.socket.settimeout(left)
                more = self.socket.recv(65536)
                if not more:
                    break
                buffered = self.acknowledge(buffered + more)
            else:
                return float("inf")
        except TimeoutError:
            return float("inf")
        except OSError:
            pass
        return time.monotonic() - begin

    def acknowledge(self, buffered):
        """Takes whole frames off the front; gives back what is left."""
        while len(buffered) >= 9 and len(buffered) >= 9 + (size := int.from_bytes(buffered[:3], "big")):
            kind, flags, payload = buffered[3], buffered[4], buffered[9:9 + size]
            if kind in (SETTINGS, PING) and not flags & ACK:
                self.pings += kind == PING
                self.socket.sendall(frame(kind, ACK, 0, payload if kind == PING else b""))
            buffered = buffered[9 + size:]
        return buffered
