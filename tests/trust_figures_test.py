"""./dev bench trust reports each figure that it could not measure, also a sum that lacks an addend; and the checks of its part flips."""

import contextlib
import io
import json
import pathlib
import random
import sys
import tempfile
import types
import unittest
from unittest import mock

from harness.main import main
from harness.server import ROOT

sys.path.append(str(ROOT / "bench/trust"))
import bench_trust  # noqa: E402: it is in bench/trust/
import flip_directory  # noqa: E402
import flip_writes  # noqa: E402

ADDENDS = {"simulation": ["trust.simulation_silent_losses", "trust.simulation_doubled"],
           "kills": ["trust.kills_silent_losses", "trust.kills_doubled"],
           "flips": ["trust.flips_silent_losses", "trust.flips_doubled"]}


def measured(name):
    return {key: 0 for key in ADDENDS[name]}


class Figures(unittest.TestCase):
    def run_bench(self, **outcomes):
        """(status, document, table) of a run of parts that return the outcome of their name, or raise it."""
        parts = {name: types.SimpleNamespace(FIGURES=ADDENDS[name], TARGETS=[], run=mock.Mock(side_effect=[outcome]))
                 for name, outcome in outcomes.items()}
        file = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory(prefix="fathom-test-")), "figures.json")
        table = io.StringIO()
        with (mock.patch.object(bench_trust, "part", parts.__getitem__), contextlib.redirect_stdout(table),
              contextlib.redirect_stderr(io.StringIO()), mock.patch.object(sys, "argv", ["", *parts, "--json", str(file)])):
            status = bench_trust.main()
        return status, json.loads(file.read_text(encoding="utf-8")), table.getvalue()

    def test_all_addends(self):
        status, document, table = self.run_bench(simulation=measured("simulation"), kills=measured("kills"),
                                                 flips={"trust.flips_silent_losses": 2, "trust.flips_doubled": 3})
        self.assertEqual((status, document["figures"]["trust.silent_losses"], document["figures"]["trust.doubled"]), (0, 2, 3))
        self.assertNotIn("not_measured", document)
        for key in ("silent_losses", "doubled", "flips_doubled"):
            self.assertRegex(table, rf"trust\.{key} .*MISSED")

    def check_missing(self, kills):
        status, document, table = self.run_bench(simulation=measured("simulation"), kills=kills, flips=measured("flips"))
        self.assertEqual(status, 1)
        for key in ("trust.silent_losses", "trust.doubled"):
            self.assertNotIn(key, document["figures"])
            self.assertIn("trust.kills_", document["not_measured"][key])
            self.assertRegex(table, rf"{key} .*NOT MEASURED: .*trust\.kills_")

    def test_a_part_that_fails(self):
        self.check_missing(bench_trust.PartFailed("no server"))

    def test_a_part_with_a_defect(self):
        self.check_missing(KeyError("seeds"))

    def test_a_part_that_returns_too_little(self):
        self.check_missing({})

    def test_a_figure_of_the_full_run(self):
        part = types.SimpleNamespace(FIGURES=[], FULL_FIGURES=["trust.simulation_min"], TARGETS=[], run=lambda context: {})
        with mock.patch.object(bench_trust, "part", lambda name: part):
            for is_quick, absent in ((True, set()), (False, {"trust.simulation_min"})):
                _, missing = bench_trust.run_parts(["simulation"], types.SimpleNamespace(is_quick=is_quick))
                self.assertEqual(set(missing), absent)
        self.assertTrue(bench_trust.verdict("trust.simulation_min", 90.1).endswith("MISSED"))
        self.assertTrue(bench_trust.verdict("trust.simulation_min", 89.9).endswith("ok"))

    def test_a_sum_of_other_parts_is_not_expected(self):
        status, document, _ = self.run_bench(flips=measured("flips"))
        self.assertEqual((status, set(document["figures"])), (0, set(ADDENDS["flips"])))
        self.assertNotIn("not_measured", document)


class FakeServer:
    """Answers each request with `status` and `text`, and each question about a trace with `found` spans of one id."""

    def __init__(self, status=200, text=b"{}", found=1):
        self.status, self.text, self.found = status, text, found

    def post(self, _):
        return self.status, self.text

    def get(self, _):
        return 200, json.dumps({"spans": [{"span_id": "1"}] * self.found}).encode()


class FlipWrites(unittest.TestCase):
    """The checks of bench/trust/flips.py after a flip."""

    BATCH = flip_directory.Batch("service", b"", [("a" * 32, "1")])

    def writes(self):
        directory = types.SimpleNamespace(lost=self.BATCH, batches=[self.BATCH] * flip_writes.REPEATED_BATCHES, start_nano=0,
                                          traces=["a" * 32] * flip_writes.CHECKED_TRACES, captured="b" * 32)
        writes = flip_writes.Writes(directory, [], random.Random(1))
        self.enterContext(mock.patch.object(flip_writes, "RETRY_S", 0))
        self.enterContext(mock.patch.object(writes, "traces_to_check", lambda: ["a" * 32]))
        return writes

    def test_a_rejection_must_name_the_fix(self):
        with self.assertRaisesRegex(flip_writes.NotHandled, "sealing is behind"):
            self.writes().deliver(FakeServer(503, b"sealing is behind; try again"), self.BATCH)
        writes = self.writes()
        self.assertFalse(writes.deliver(FakeServer(503, b"run 'fathom store repair DIR NEW_DIR'"), self.BATCH))
        self.assertTrue(writes.is_rejected)

    def test_an_acknowledged_span_is_found_once(self):
        for found, why in ((0, "1 acknowledged spans are missing"), (1, None), (3, "2 spans are stored twice")):
            writes, server = self.writes(), FakeServer(found=found)
            self.assertTrue(writes.deliver(server, self.BATCH))
            if not why:
                writes.check(server, None)
                continue
            with self.assertRaisesRegex(flip_writes.NotHandled, why) as caught:
                writes.check(server, None)
            self.assertEqual(caught.exception.doubled, max(found - 1, 0))

    def test_another_end_of_the_server(self):
        def ended(status):
            return flip_directory.Ended(mock.Mock(**{"process.wait.return_value": status, "log_text.return_value": ""}))

        for status in (0, 1, -11):
            with self.assertRaisesRegex(flip_writes.NotHandled, f"ended with status {status}"):
                flip_writes.check_end(ended(status))
        flip_writes.check_end(ended(flip_writes.REJECTED))


if __name__ == "__main__":
    main()
