"""Flips single bits anywhere in data directories (flip_directory.py) and checks that each is handled.

A flip is handled if it changes no answer, or if it is detected: the server rejects the directory, ends with the status for a damaged
directory or reports a loss, each answer that changed is an error or has a `problem`, or `fathom store verify` finds it. Everything else is
a silent loss, every other end of the server included. A flip in the fill of a log must change nothing. A flip in `before-upgrade/` is
handled if this is also true after `fathom-server revert-upgrade`, or if that command rejects the directory.

After each flip in `store/`, `clock` or `version`, the server that started gets batches (flip_writes.py). After a quarter of these flips,
it is also killed and started again.

Half of the flips choose a byte of the directory, the others choose a kind of file first. Two flips run at once. Prints the outcomes of each
kind of file, and one line of JSON. With --save DIR, each damaged directory that is not handled is copied to DIR. Takes about 15 minutes for
1,000 flips on two idle processors if the temporary directory is in memory (TMPDIR=/dev/shm). A flip costs 1.1 s of a processor.
"""

import argparse
import collections
import concurrent.futures
import json
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time

import flip_directory
from flip_directory import VARIANTS, Directory, Ended, Server
from flip_writes import REJECTED, NotHandled, Writes, check_end, count_spans, services_question, write
from harness import logs

PROBLEM = re.compile(rb'"problem":"[^"]*')  # the member of an answer that names what cannot be read
FILL = "store/*.log, fill"
AT_ONCE, FLIPS_PER_ROUND = 2, 50
MOST_AGE_S = 40 * 60  # a server recognizes the batches of a directory for an hour


Piece = collections.namedtuple("Piece", "kind path begin size")


def pieces_of(data):
    """All files but the ballast, which nothing reads and which would take a quarter of the flips. A filled log has several pieces."""
    for path in sorted(data.rglob("*")):
        if not path.is_file() or path.name == "ballast" or (size := path.stat().st_size) == 0:
            continue
        kind = kind_of(path.relative_to(data))
        if kind == "store/*.log" and (filled := logs.filled(path)):
            yield Piece(kind, path, 0, filled.records_end)
            yield Piece(FILL, path, filled.records_end, filled.mark_begin - filled.records_end)
            yield Piece(f"{kind}, end mark", path, filled.mark_begin, size - filled.mark_begin)
        else:
            yield Piece(kind, path, 0, size)


def kind_of(name):
    """The kind of a file, by its path in the directory: a folder; in `store`, an extension."""
    if name.parts[0] == "store":
        return f"store/*{name.suffix}" if name.suffix in (".sst", ".log") else "store, others"
    return "/".join(name.parts[:-1][:2]) if name.parts[0] in ("before-upgrade", "server-snapshots") else name.parts[0]


def pick(pieces, chance):
    """(piece, bit): each byte of the directory is as likely as every other, or each kind of file, so that small files have their share."""
    if chance.random() < 0.5:
        kinds = collections.defaultdict(list)
        for piece in pieces:
            kinds[piece.kind].append(piece)
        pieces = [chance.choice(kinds[chance.choice(sorted(kinds))])]
    byte = chance.randrange(sum(piece.size for piece in pieces))
    for piece in pieces:
        if byte < piece.size:
            return piece, 8 * (piece.begin + byte) + chance.randrange(8)
        byte -= piece.size
    raise AssertionError


def is_report(answer, before):
    """Whether a changed answer is an error, or names a capture or a snapshot that cannot be read."""
    (status, body), (_, known) = answer, before
    problems, known_problems = (collections.Counter(PROBLEM.findall(text)) for text in (body, known))
    return status not in (200, 404) or bool(problems - known_problems)


def answers(server, questions):
    return {question: server.get(question) for question in questions}


class WrongAnswers(NotHandled):
    """Answers that changed, and do not report it."""


def outcome_of_answers(found, expected):
    changed = [question for question, answer in found.items() if answer != expected[question]]
    if wrong := [question for question in changed if not is_report(found[question], expected[question])]:
        raise WrongAnswers(f"{len(wrong)} wrong answers, the first to {wrong[0]}")
    return "read" if changed else "no change"


def outcome_of_server(data, expected, writes):
    """How the server alone handled it; raises NotHandled. `writes`: what it gets after the questions, if anything."""
    try:
        with Server(data) as server:
            if server.addresses:
                return outcome_of_running(data, server, expected, writes)
            check_end(Ended(server))
            return "start"
    except Ended as ended:
        check_end(ended)
        return "end"


def outcome_of_running(data, server, expected, writes):
    how, found, wrong = "start", {}, None
    if server.lost_batches() == 0:
        found = answers(server, expected)
        try:
            how = outcome_of_answers(found, expected)
        except WrongAnswers as failure:
            wrong = failure
    if writes:
        question = services_question(writes.directory)
        total = count_spans(expected[question][1]) if found.get(question) == expected[question] else None
        if write(data, server, writes, total):
            how = "write"
    if wrong:
        raise wrong
    return how


def is_found_by_verify(data):
    command = [flip_directory.BIN / "fathom-store", "verify", data, "--json"]
    return subprocess.run(command, capture_output=True, check=False, timeout=600).returncode == REJECTED


def revert(data):
    command = [flip_directory.BIN / "fathom-server", "revert-upgrade", data]
    return subprocess.run(command, capture_output=True, check=False, timeout=600).returncode


class Original:
    """A variant of the directory, what it answers, and the same after a revert of its upgrade."""

    def __init__(self, directory, variant):
        self.directory, self.variant = directory, variant
        self.data = directory.path(variant)
        self.pieces = list(pieces_of(self.data))
        assert not is_found_by_verify(self.data), "the directory is damaged before any flip"
        with Server(self.new_copy()) as server:
            directory.find_pages(server)
        self.expected = self.expect(self.new_copy(), directory.questions())
        assert revert(self.new_copy()) == 0, "the upgrade cannot be reverted before any flip"
        self.older_expected = self.expect(self.copy(), flip_directory.older_questions())

    @staticmethod
    def expect(data, questions):
        with Server(data) as server:
            found = answers(server, questions)
        assert all(status == 200 for status, _ in found.values()), [status for status, _ in found.values()]
        return found

    def copy(self):
        """Each thread has its own."""
        return self.directory.place / f"copy-{threading.get_ident()}"

    def new_copy(self):
        shutil.rmtree(self.copy(), ignore_errors=True)
        return shutil.copytree(self.data, self.copy())

    def damaged(self, piece, bit):
        data = self.new_copy()
        logs.flip_bit(data / piece.path.relative_to(self.data), bit)
        return data

    def handle(self, piece, bit, chance):
        """What handled a flip in a piece of the directory; raises NotHandled."""
        is_written = piece.kind.startswith("store") or piece.kind in ("clock", "version")
        writes = Writes(self.directory, self.directory.last_batches[self.variant], chance) if is_written else None
        how = self.outcome(lambda: self.damaged(piece, bit), self.expected, writes)
        if piece.kind == FILL and how != "no change":
            raise NotHandled(f"a flip in the fill of a log is taken for damage: {how}")
        if not piece.kind.startswith("before-upgrade"):
            return how
        if status := revert(self.damaged(piece, bit)):
            if status < 0:
                raise NotHandled(f"the revert ended with status {status}")
            return "revert"

        def reverted():
            assert revert(self.damaged(piece, bit)) == 0
            return self.copy()

        return self.outcome(reverted, self.older_expected, None)

    @staticmethod
    def outcome(make, expected, writes):
        try:
            return outcome_of_server(make(), expected, writes)
        except WrongAnswers as failure:
            if not is_found_by_verify(make()):
                raise
            return f"verify: {failure}"


class Originals:
    """The variants. They are made again before a server could forget the batches that they were made from."""

    def __init__(self, place, seed):
        self.place, self.seed = place, seed
        self.made_s, self.variants = 0, []

    def get(self):
        if not self.variants or time.monotonic() - self.made_s > MOST_AGE_S:
            shutil.rmtree(self.place, ignore_errors=True)
            self.place.mkdir()
            self.made_s = time.monotonic()
            directory = Directory(self.place, self.seed)
            directory.fill()
            self.variants = [Original(directory, variant) for variant in VARIANTS]
        return self.variants


class Flip:
    """One flip. `where` names it; `how` says what handled it, and `failure` why nothing did."""

    def __init__(self, original, number, piece, bit):
        self.original, self.number, self.piece, self.bit = original, number, piece, bit
        self.where = f"flip {number}, {piece.path.relative_to(original.data)}, bit {bit} ({original.variant})"
        self.how, self.failure = "", None

    def handle(self, seed, save):
        try:
            self.how = self.original.handle(self.piece, self.bit, random.Random(f"{seed} {self.number}"))
        except NotHandled as failure:
            self.how, self.failure = "doubled" if failure.doubled else "silent", failure
            if save:
                keep(self.original.damaged(self.piece, self.bit), pathlib.Path(save, f"{seed}-{self.number}"))
        return self


class Tally:
    """The outcomes of flips by kind of file, and the spans that were stored twice."""

    def __init__(self):
        self.by_kind, self.failures, self.doubled = collections.defaultdict(collections.Counter), [], 0

    def add(self, flip):
        how, _, why = flip.how.partition(": ")
        self.by_kind[flip.piece.kind][how] += 1
        if why:
            print(f"flips.py: only verification found: {flip.where}: {why}", file=sys.stderr)
        if flip.failure:
            self.doubled += flip.failure.doubled
            self.failures.append(f"{flip.where}: {flip.failure}")
        if flip.number % 100 == 99:
            print(f"flips.py: {flip.number + 1} flips, {len(self.failures)} not handled", file=sys.stderr)

    def outcomes(self):
        return sum(self.by_kind.values(), collections.Counter())

    def print(self):
        for kind, outcomes in sorted(self.by_kind.items()):
            print(f"flips.py: {kind}: {dict(outcomes)}", file=sys.stderr)
        for one in self.failures:
            print(f"flips.py: not handled: {one}", file=sys.stderr)


def choose(numbers, variants, chance, kind):
    for number in numbers:
        original = variants[number % len(variants)]
        yield Flip(original, number, *pick([piece for piece in original.pieces if kind in (None, piece.kind)], chance))


def run(flips, seed, save=None, kind=None):
    """(figures, outcomes). `kind`: only flips in files of it; `save`: a directory for damaged directories that are not handled."""
    tally, chance = Tally(), random.Random(seed)
    with (tempfile.TemporaryDirectory(prefix="fathom-flips-") as place,
          concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool):
        originals = Originals(pathlib.Path(place, "originals"), seed)
        for first in range(0, flips, FLIPS_PER_ROUND):
            numbers = range(first, min(first + FLIPS_PER_ROUND, flips))
            chosen = list(choose(numbers, originals.get(), chance, kind))
            for flip in pool.map(lambda flip: flip.handle(seed, save), chosen):
                tally.add(flip)
    tally.print()
    return figures_of(tally, flips), tally.outcomes()


def keep(data, place):
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(data, place)


def figures_of(tally, flips):
    return {"trust.flips_handled_pct": 100 * (flips - len(tally.failures)) / flips,
            "trust.flips_silent_losses": tally.outcomes()["silent"], "trust.flips_doubled": tally.doubled}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--flips", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=20261127)
    parser.add_argument("--save", metavar="DIR", help="copy damaged directories that are not handled to DIR/SEED-NUMBER")
    parser.add_argument("--kind", metavar="KIND", help="flip only bits of this kind of file, as the outcomes name it: 'store/*.sst'")
    given = parser.parse_args()
    figures, outcomes = run(given.flips, given.seed, given.save, given.kind)
    print(json.dumps({**figures, "flips": given.flips, "seed": given.seed, "outcomes": dict(outcomes)}))


if __name__ == "__main__":
    main()
