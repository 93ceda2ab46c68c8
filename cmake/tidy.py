"""Runs clang-tidy over our sources, as many at a time as told, and remembers what was clean: tidy.py BUILD_DIR [-j N]

A source is looked at again when it, any header of ours, its flags or .clang-tidy changed; every clone on a machine
shares what is remembered ($XDG_CACHE_HOME/fathom-tidy, or in ~/.cache). Tests and fuzz targets are left out: gtest's
macros cost more time than their findings are worth.
"""

import argparse
import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
LEFT_OUT = re.compile(r"_(test|fuzz)\.cc$|/testing/")


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("-j", dest="jobs", type=int, default=1)
    return parser.parse_args()


def entries(build):
    """(source, flags) of every translation unit of ours."""
    for entry in json.loads((build / "compile_commands.json").read_text(encoding="utf-8")):
        source = pathlib.Path(entry["directory"], entry["file"]).resolve()
        inside = source.is_relative_to(ROOT) and not source.is_relative_to(build.resolve())
        if inside and not LEFT_OUT.search(str(source)):
            yield source, entry["command"]


def digest_of(paths):
    digest = hashlib.sha256()
    for path in paths:
        digest.update(path.read_bytes())
    return digest.digest()


def shared_digest():
    """Of what every source depends on. All headers together: simpler than who includes whom, and never stale."""
    headers = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", "*.h", "*.proto"],
        cwd=ROOT, check=True, capture_output=True, text=True).stdout.split("\0")
    paths = [ROOT / name for name in sorted(set(headers)) if name and (ROOT / name).exists()]
    return digest_of([ROOT / ".clang-tidy", *paths])


def version():
    return subprocess.run(["clang-tidy-16", "--version"], check=True, capture_output=True).stdout


class Tidy:
    def __init__(self, build):
        self.build = build
        cache = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
        self.stamps = pathlib.Path(cache, "fathom-tidy")
        self.stamps.mkdir(parents=True, exist_ok=True)
        self.shared = shared_digest() + version()

    def stamp(self, source, flags):
        """Where the clone lies makes no difference."""
        where = f"{source.relative_to(ROOT)} {flags.replace(str(ROOT), '.')}"
        return self.stamps / hashlib.sha256(self.shared + digest_of([source]) + where.encode()).hexdigest()

    def check(self, source, flags):
        """None when clean, else what clang-tidy said."""
        command = ["clang-tidy-16", "-p", str(self.build), "--quiet", "--warnings-as-errors=*", str(source)]
        outcome = subprocess.run(command, capture_output=True, text=True, check=False)
        if outcome.returncode != 0:
            return outcome.stdout + outcome.stderr
        self.stamp(source, flags).touch()
        return None


def main():
    options = arguments()
    started = time.monotonic()
    tidy = Tidy(options.build)
    units = sorted(set(entries(options.build)))
    due = [unit for unit in units if not tidy.stamp(*unit).exists()]
    complaints = 0
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for said in pool.map(lambda unit: tidy.check(*unit), due):
            if said:
                complaints += 1
                print(said, end="", flush=True)
    seconds = time.monotonic() - started
    print(f"clang-tidy: {len(due)} of {len(units)} sources looked at in {seconds:.0f} s, {complaints} with findings")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
