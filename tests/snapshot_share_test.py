"""Snapshots and a real server: sent, listed, fetched, asked and dropped, by HTTP and by the command line."""

import concurrent.futures
import ctypes
import hashlib
import http.client
import json
import os
import pathlib
import signal
import stat
import struct
import tempfile
import unittest

from harness.main import main
from harness.server import PATIENCE_S, Server, cli, until

PIECE = 1 << 20
# In the place of fathom-worker: says what it was asked, or does what the verb's limit says.
WORKER = """#!/bin/sh
case "$*" in
  *"--limit 404"*) echo "fathom: no such thread" >&2; exit 1;;
  *"--limit 400"*) echo "fathom: a wrong pattern" >&2; exit 2;;
  *"--limit 413"*) head -c 9000000 /dev/zero;;
  *"--limit 600"*) echo $$ > "$2/results/slow.pid"; exec sleep 600;;
  *) printf '{"asked":"%s"}' "$(echo "$*" | cut -d' ' -f3-)";;
esac
"""


def varint(number):
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes(out + bytes([number]))


def svarint(number):
    return varint(number << 1 ^ number >> 63)


def text(value):
    return varint(len(value)) + value.encode()


# Python's library has no XXH3, but the server links the library.
XXHASH = ctypes.CDLL("libxxhash.so.0")
XXHASH.XXH3_64bits.restype = ctypes.c_uint64
XXHASH.XXH3_64bits.argtypes = [ctypes.c_char_p, ctypes.c_size_t]


def xxh3(data):
    return XXHASH.XXH3_64bits(data, len(data))


class Snapshot:
    """One as docs/formats/snapshot.md says it is, with one image."""

    def __init__(self, number, packet_bytes=10, trace_id=bytes(16)):
        self.image = f"image {number}".encode() * 1000
        packets = bytes([number]) * packet_bytes
        stream = svarint(-1) + svarint(42) + svarint(43) + varint(1) + varint(0) + varint(16) + varint(packet_bytes)
        image = (text("/usr/bin/shop") + text("") + b"\x01" + hashlib.sha256(self.image).digest() +
                 varint(len(self.image)) + text(""))
        trigger = text("overdue") + varint(0) + svarint(43) + trace_id + bytes(8)
        metadata = (b"\x02\x01" + bytes([0]) + varint(0) + bytes(2) + bytes(2) + varint(0) * 5 + text("node-1") +
                    text(f"shop {number}") + svarint(1_795_000_000_000_000_000 + number) + struct.pack("<d", 0) + trigger +
                    varint(1) + stream + varint(1) + image + varint(0) + varint(0))
        begin = b"FTHMSNAP" + struct.pack("<II", 1, 0) + packets
        self.bytes = begin + metadata + struct.pack("<QQQ", len(begin), len(metadata), xxh3(metadata)) + b"FTHMSNAP"
        self.id = hashlib.sha256(self.bytes).hexdigest()[:32]
        self.path = f"/api/v1/snapshots/{self.id}"
        self.image_name = hashlib.sha256(self.image).hexdigest()
        self.image_path = f"/api/v1/images/{self.image_name}"

    def write(self, directory):
        for folder, name, content in (("snapshots", self.id + ".snapshot", self.bytes), ("images", self.image_name, self.image)):
            pathlib.Path(directory, folder).mkdir(parents=True, exist_ok=True)
            pathlib.Path(directory, folder, name).write_bytes(content)


def has_commands():
    return cli("snapshot", "push", "--help").returncode == 0


class SnapshotShare(unittest.TestCase):
    def setUp(self):
        self.place = self.enterContext(tempfile.TemporaryDirectory(prefix="fathom-test-"))
        worker = pathlib.Path(self.place, "worker")
        worker.write_text(WORKER, encoding="utf-8")
        worker.chmod(worker.stat().st_mode | stat.S_IXUSR)
        self.server = Server(arguments=["--snapshot-worker", str(worker), "--retention-snapshots", "256MiB"])
        self.enterContext(self.server)

    def send(self, path, body, offset, total):
        connection = http.client.HTTPConnection(self.server.http, timeout=PATIENCE_S)
        try:
            connection.request("PUT", f"{path}/bytes?offset={offset}&total={total}", body)
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read())
        finally:
            connection.close()

    def upload(self, path, content):
        """As an agent does: piece after piece, and what is due where another one was."""
        offset = 0
        while True:
            status, answer = self.send(path, content[offset:offset + PIECE], offset, len(content))
            if status == 503:
                continue
            self.assertIn(status, (200, 409), answer)
            if answer.get("stored"):
                return
            offset = answer["offset"]

    def ids(self, **filters):
        return [row["id"] for row in self.server.ask("/api/v1/snapshots", filters)["snapshots"]]

    def file(self, *names):
        return pathlib.Path(self.server.data, "server-snapshots", *names)

    def test_sent_by_several_at_once_it_is_there_once(self):
        snapshot = Snapshot(1, 20 * PIECE)
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            for done in [pool.submit(self.upload, snapshot.path, snapshot.bytes) for _ in range(4)]:
                done.result()
        self.assertEqual(self.ids(), [snapshot.id])
        self.assertEqual(self.file("snapshots", snapshot.id + ".snapshot").read_bytes(), snapshot.bytes)
        self.assertEqual(list(self.file("drafts").iterdir()), [])
        document = self.server.ask(snapshot.path)
        self.assertEqual(document["missing_images"], 1)
        self.upload(snapshot.image_path, snapshot.image)
        self.assertEqual(self.server.ask(snapshot.path)["missing_images"], 0)

    def test_an_upload_that_a_crash_cut_begins_anew_and_what_was_stored_stays(self):
        whole, cut = Snapshot(1), Snapshot(2, 3 * PIECE)
        self.upload(whole.path, whole.bytes)
        status, answer = self.send(cut.path, cut.bytes[:PIECE], 0, len(cut.bytes))
        self.assertEqual((status, answer["offset"]), (200, PIECE))
        before = self.server.pid()
        os.kill(before, signal.SIGKILL)
        until(lambda: self.server.pid() not in (None, before) and self.server.ready(), "the server is back")
        until(lambda: self.server.get("/api/v1/snapshots")[0] == 200, "it has read what there is")
        self.assertEqual(self.ids(), [whole.id])
        self.assertEqual(self.send(cut.path, b"", 0, len(cut.bytes))[1]["offset"], 0)
        self.upload(cut.path, cut.bytes)
        self.assertEqual(self.ids(), [cut.id, whole.id])

    def test_lies_are_not_stored(self):
        snapshot = Snapshot(1)
        changed = bytearray(snapshot.bytes)
        changed[20] ^= 1
        status, answer = self.send(snapshot.path, bytes(changed), 0, len(changed))
        self.assertEqual(status, 400, answer)
        text_of_mine = b"no snapshot at all, but long enough to be looked at as one"
        name = hashlib.sha256(text_of_mine).hexdigest()[:32]
        self.assertEqual(self.send(f"/api/v1/snapshots/{name}", text_of_mine, 0, len(text_of_mine))[0], 400)
        self.assertEqual(self.send("/api/v1/snapshots/..%2f..%2fx", b"x", 0, 1)[0], 400)
        self.assertEqual(self.ids(), [])
        self.assertEqual(list(self.file("snapshots").iterdir()), [])
        self.upload(snapshot.path, snapshot.bytes)
        self.assertEqual(self.ids(), [snapshot.id])

    def test_beyond_the_budget_the_oldest_go(self):
        made = [Snapshot(number, 100 * PIECE) for number in range(3)]
        for snapshot in made:
            self.upload(snapshot.path, snapshot.bytes)
        self.assertEqual(self.ids(), [made[2].id, made[1].id])
        self.assertEqual(self.server.metrics()['fathom_snapshots_dropped_total{reason="size"}'], 1)
        self.assertFalse(self.file("snapshots", made[0].id + ".snapshot").exists())

    def question(self, snapshot, verb, **parameters):
        return self.server.get(f"{snapshot.path}/{verb}", parameters)

    def test_the_worker_is_asked(self):
        one, two = Snapshot(1), Snapshot(2)
        for snapshot in (one, two):
            self.upload(snapshot.path, snapshot.bytes)
        self.assertEqual(json.loads(self.question(one, "calls", tid=43)[1])["asked"], f"calls {one.id} --format json --tid 43")
        self.assertEqual(json.loads(self.question(one, "calls", by="instructions")[1])["asked"],
                         f"calls {one.id} --format json --by=instructions")
        self.assertEqual(json.loads(self.question(one, f"diff/{two.id}", format="svg")[1])["asked"],
                         f"diff {one.id} --other {two.id} --format svg")
        for status, words in ((404, "no such thread"), (400, "a wrong pattern"), (413, "limit=")):
            answered, body = self.question(one, "insns", limit=status)
            self.assertEqual(answered, status, body)
            self.assertIn(words, body)

    def test_a_worker_ends_with_its_asker(self):
        snapshot = Snapshot(1)
        self.upload(snapshot.path, snapshot.bytes)
        connection = http.client.HTTPConnection(self.server.http, timeout=PATIENCE_S)
        connection.request("GET", f"{snapshot.path}/calls?limit=600&timeout=60s")
        note = self.file("results", "slow.pid")
        until(lambda: note.exists() and note.read_text(encoding="utf-8").endswith("\n"), "the worker runs")
        self.assertEqual(self.ids(), [snapshot.id], "nobody waits for it")
        pid = int(note.read_text(encoding="utf-8"))
        connection.close()

        def is_gone():
            return not pathlib.Path(f"/proc/{pid}").exists()
        until(is_gone, "the worker was killed")

    def test_pushed_here_and_pulled_there(self):
        if not has_commands():
            self.skipTest("this fathom has no 'snapshot push'")
        mine, yours = pathlib.Path(self.place, "mine"), pathlib.Path(self.place, "yours")
        snapshot = Snapshot(1, 10 * PIECE, trace_id=bytes(range(16)))
        snapshot.write(mine)
        pushed = cli("snapshot", "push", "last", "--directory", str(mine), "--url", self.server.url, check=0)
        self.assertEqual(json.loads(pushed.stdout), {"snapshot_id": snapshot.id})
        self.assertEqual(self.ids(trace_id=bytes(range(16)).hex()), [snapshot.id])
        for place, where in ((mine, "both"), (yours, "server")):
            place.mkdir(exist_ok=True)
            listed = cli("snapshot", "list", "--url", self.server.url, "--directory", str(place), "--format", "json", check=0)
            self.assertEqual([(row["snapshot_id"], row["where"]) for row in json.loads(listed.stdout)], [(snapshot.id, where)])
        cli("snapshot", "pull", snapshot.id, "--directory", str(yours), "--url", self.server.url, check=0)
        self.assertEqual((yours / "snapshots" / f"{snapshot.id}.snapshot").read_bytes(), snapshot.bytes)
        self.assertEqual((yours / "images" / snapshot.image_name).read_bytes(), snapshot.image)
        self.assertTrue((yours / "pulled" / snapshot.id).exists(), "so that it does not become 'last'")
        cli("snapshot", "pull", "1" * 32, "--directory", str(yours), "--url", self.server.url, check=1)


if __name__ == "__main__":
    main()
