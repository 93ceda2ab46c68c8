"""Flips single bits anywhere in a data directory (flip_directory.py) and checks that each is handled.

A flip is handled if it changes no answer, or if it is detected: the server rejects the directory or reports a loss, each answer that
changed is an error or has a `problem`, or `fathom store verify` finds it. Everything else is a silent loss, the end of the server
included. A flip in `before-upgrade/` is handled if this is also true after `fathom-server revert-upgrade`, or if that command rejects
the directory. Half of the flips choose a byte of the directory, the others choose a kind of file first. Prints the outcomes of each
kind of file, and one line of JSON. Takes about 25 minutes for 1,000 flips on two processors if the temporary directory is in memory
(TMPDIR=/dev/shm).
"""

import argparse
import collections
import json
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile

import flip_directory
from flip_directory import DIED, PATIENCE_S, Directory, Server, flip

PROBLEM = b'"problem":'  # the member of an answer that names what cannot be read
REJECTED = 7  # the exit status for a damaged directory


def files_of(data):
    """All files but the ballast, which nothing reads and which would take a quarter of the flips."""
    return [(path, size) for path in sorted(data.rglob("*"))
            if path.is_file() and path.name != "ballast" and (size := path.stat().st_size) > 0]


def kind_of(name):
    """The kind of a file, by its path in the directory: a folder; in `store`, an extension."""
    if name.parts[0] == "store":
        return f"store/*{name.suffix}" if name.suffix in (".sst", ".log") else "store, others"
    return "/".join(name.parts[:-1][:2]) if name.parts[0] in ("before-upgrade", "server-snapshots") else name.parts[0]


def pick(original, files, chance):
    """(path, bit): each byte of the directory is as likely as every other, or each kind of file, so that small files have their share."""
    if chance.random() < 0.5:
        kinds = collections.defaultdict(list)
        for path, size in files:
            kinds[kind_of(path.relative_to(original))].append((path, size))
        files = [chance.choice(kinds[chance.choice(sorted(kinds))])]
    byte = chance.randrange(sum(size for _, size in files))
    for path, size in files:
        if byte < size:
            return path, 8 * byte + chance.randrange(8)
        byte -= size
    raise AssertionError


def is_report(answer, before):
    """Whether a changed answer is an error, or names a capture or a snapshot that cannot be read."""
    (status, body), (_, known) = answer, before
    return status not in (DIED, 200, 404) or body.count(PROBLEM) > known.count(PROBLEM)


def answers(server, questions):
    return [server.get(question) for question in questions]


def outcome_of_server(data, questions, expected):
    """How the server alone handled it; empty: an answer is wrong, and nothing says so."""
    with Server(data) as server:
        if not server.ready:
            return "start" if server.process.wait(PATIENCE_S) == REJECTED else ""
        if server.lost_batches() > 0:
            return "start"
        found = answers(server, questions)
    if any(status == DIED for status, _ in found):
        return ""
    changed = [(answer, before) for answer, before in zip(found, expected) if answer != before]
    if not changed:
        return "no change"
    return "read" if all(is_report(answer, before) for answer, before in changed) else ""


def is_found_by_verify(data):
    command = [flip_directory.BIN / "fathom-store", "verify", data, "--json"]
    return subprocess.run(command, capture_output=True, check=False, timeout=600).returncode == REJECTED


def revert(data):
    command = [flip_directory.BIN / "fathom-server", "revert-upgrade", data]
    return subprocess.run(command, capture_output=True, check=False, timeout=600).returncode


class Flips:
    """A directory, what it answers, and the same after a revert of its upgrade."""

    def __init__(self, place, seed):
        self.original, self.copy = place / "original", place / "copy"
        directory = Directory(self.original, seed)
        directory.fill()
        assert not is_found_by_verify(self.original), "the directory is damaged before any flip"
        with Server(self.new_copy()) as server:
            directory.find_pages(server)
        self.questions = list(directory.questions())
        self.expected = self.expect(self.new_copy(), self.questions)
        self.older_questions = list(flip_directory.older_questions())
        assert revert(self.new_copy()) == 0, "the upgrade cannot be reverted before any flip"
        self.older_expected = self.expect(self.copy, self.older_questions)

    @staticmethod
    def expect(data, questions):
        with Server(data) as server:
            found = answers(server, questions)
        assert all(status == 200 for status, _ in found), [status for status, _ in found]
        return found

    def new_copy(self):
        shutil.rmtree(self.copy, ignore_errors=True)
        shutil.copytree(self.original, self.copy)
        return self.copy

    def handle(self, name, bit):
        """What handled a flip in a file of the directory; empty: nothing did."""
        def damaged():
            data = self.new_copy()
            flip(data / name, bit)
            return data

        how = self.outcome(damaged, self.questions, self.expected)
        if not how or name.parts[0] != "before-upgrade":
            return how
        if status := revert(damaged()):
            return "revert" if status > 0 else ""

        def reverted():
            assert revert(damaged()) == 0
            return self.copy

        return self.outcome(reverted, self.older_questions, self.older_expected)

    @staticmethod
    def outcome(make, questions, expected):
        how = outcome_of_server(make(), questions, expected)
        return how or ("verify" if is_found_by_verify(make()) else "")


def run(flips, seed):
    by_kind, silent = collections.defaultdict(collections.Counter), []
    with tempfile.TemporaryDirectory(prefix="fathom-flips-") as place:
        original = Flips(pathlib.Path(place), seed)
        files, chance = files_of(original.original), random.Random(seed)
        for number in range(flips):
            path, bit = pick(original.original, files, chance)
            name = path.relative_to(original.original)
            how = original.handle(name, bit)
            by_kind[kind_of(name)][how or "silent"] += 1
            if how == "verify":
                print(f"flips.py: only verification found: {name}, bit {bit}", file=sys.stderr)
            if not how:
                silent.append(f"{name}, bit {bit}")
            if number % 100 == 99:
                print(f"flips.py: {number + 1} of {flips}, {len(silent)} not handled", file=sys.stderr)
    for kind, outcomes in sorted(by_kind.items()):
        print(f"flips.py: {kind}: {dict(outcomes)}", file=sys.stderr)
    for one in silent:
        print(f"flips.py: not handled: {one}", file=sys.stderr)
    return sum(by_kind.values(), collections.Counter())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--flips", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=20261127)
    given = parser.parse_args()
    outcomes = run(given.flips, given.seed)
    silent = outcomes.pop("silent", 0)
    handled = 100 * (given.flips - silent) / given.flips
    print(json.dumps({"trust.flips_handled_pct": round(handled, 2), "trust.silent_losses": silent, "flips": given.flips,
                      "seed": given.seed, "handled_by": dict(outcomes)}))


if __name__ == "__main__":
    main()
