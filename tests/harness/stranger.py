"""Who talks to an agent by hand, as a traced program that means ill would: for tests that have `self.server`."""

import array
import fcntl
import os
import signal
import socket
import struct

OFFER_MAGIC, DETAIL_OFFER_MAGIC = 0x4D4854FA, 0x4D4854FB
SEALS = 0x0001 | 0x0002 | 0x0004  # F_SEAL_SEAL, F_SEAL_SHRINK, F_SEAL_GROW
F_ADD_SEALS = 1033


class Stranger:
    def connect(self):
        peer = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.addCleanup(peer.close)
        peer.settimeout(30)
        peer.connect(self.server.agent_socket)
        return peer

    def offer(self, descriptor, size, message=None):
        return self.offer_on(self.connect(), descriptor, message or struct.pack("<IIQ", OFFER_MAGIC, 1, size))

    @staticmethod
    def offer_on(peer, descriptor, message):
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [descriptor]))] if descriptor is not None else []
        peer.sendmsg([message], rights)
        return peer

    def answered(self, peer):
        try:
            return peer.recv(256)
        except (ConnectionError, TimeoutError) as error:
            return b"" if isinstance(error, ConnectionError) else self.fail("neither an answer nor an end")

    def verdict(self, descriptor, size):
        answer = self.answered(self.offer(descriptor, size))
        return struct.unpack_from("<III", answer)[2] if answer else None

    def memory(self, content, seal=True):
        descriptor = os.memfd_create("stranger", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        self.addCleanup(os.close, descriptor)
        os.truncate(descriptor, len(content)) if isinstance(content, range) else os.write(descriptor, content)
        if seal:
            fcntl.fcntl(descriptor, F_ADD_SEALS, SEALS)
        return descriptor

    def meanwhile(self, work):
        """Does it again and again, in a process of its own, until the test ends."""
        pid = os.fork()
        if pid == 0:
            try:
                os.nice(5)
                while True:
                    work()
            finally:
                os._exit(1)
        self.addCleanup(os.waitpid, pid, 0)
        self.addCleanup(os.kill, pid, signal.SIGKILL)


def wild_word(chance):
    number = chance.choice([0, 1, 2**31, 2**32 - 1, 2**63, 2**64 - 1]) if chance.random() < 0.5 else chance.getrandbits(64)
    return struct.pack("<Q", number)
