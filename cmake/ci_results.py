"""Reads what ./dev check and ./dev test leave behind: the file of phases and ctest's reports."""

import xml.etree.ElementTree

# The longest times allowed, in minutes: empty caches, two processors. The tests are those of both builds together, and
# CI_MINUTES is for all of .ci/run.
TIDY_MINUTES, RELEASE_MINUTES, SANITIZERS_MINUTES, TESTS_MINUTES, CI_MINUTES = 12, 12, 16, 10, 50


def phases_of(path):
    """{name: seconds}, in the order of first run; the times of a phase that ran twice are added."""
    phases = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        name, seconds = line.split("\t")
        phases[name] = phases.get(name, 0) + float(seconds)
    return phases


def test_seconds(report):
    """[(seconds, name)] of the tests in ctest's report, the slowest first."""
    cases = xml.etree.ElementTree.parse(report).iter("testcase")
    return sorted(((float(case.get("time")), case.get("name")) for case in cases), reverse=True)
