"""Where the recording of real hardware lies, as base/testing/shared_data.h says: not in the repository, but beside it."""

import os
import pathlib

from harness.server import BIN

NAME = "perf.data.intel_pt-4.14"


def candidates():
    if file := os.environ.get("FATHOM_PERF_DATA"):
        return [pathlib.Path(file)]
    named = [pathlib.Path(directory, NAME)] if (directory := os.environ.get("FATHOM_SHARED_DATA")) else []
    return named + [above / "shared/data" / NAME for above in BIN.resolve().parents]


def find_perf_data():
    """None where it is in none of these places."""
    return next((path for path in candidates() if path.is_file()), None)
