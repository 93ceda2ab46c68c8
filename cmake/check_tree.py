"""Checks of the tree that no compiler makes: file sizes, scripts, links, paths that exist on one machine only.

Looks at every file that git tracks or would track. Prints each fault as FILE:LINE: what; exits 1 when there is one.
"""

import ast
import pathlib
import re
import subprocess
import sys

MOST_LINES = 500
CODE = {".cc", ".h", ".py", ".sh", ".cjs", ".mjs", ".ts", ".tsx", ".css", ".cmake", ".proto"}
TEXT = CODE | {".md", ".txt", ".json", ".yaml", ".yml", ".patch", ""}
# A home directory or a build machine's folder means nothing to a reader elsewhere; /home/someone is plainly an example.
MACHINE_PATH = re.compile(r"(?<![\w.}$-])/(?:home|root|Users|work|workspace|builds)/(?!someone\b)[\w.-]+")
REGISTRY = re.compile(r'"resolved"\s*:\s*"https?:')
LINK = re.compile(r"(?<!!)\[[^\]\n]*\]\(([^)\s]+)\)")
FENCE = re.compile(r"^(```|~~~).*?^\1", re.DOTALL | re.MULTILINE)


def tracked():
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split("\0")
    paths = (pathlib.Path(name) for name in sorted(set(names)) if name)
    return [path for path in paths if path.is_file() and "testdata" not in path.parts]


def read(path):
    if path.suffix not in TEXT:
        return None
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return None


def line_of(text, at):
    return text.count("\n", 0, at) + 1


def is_script(path, text):
    return path.suffix == ".sh" or text.startswith("#!/bin/bash")


def check_size(path, text):
    if (path.suffix in CODE or is_script(path, text)) and text.count("\n") > MOST_LINES:
        yield 1, f"{text.count(chr(10))} lines; {MOST_LINES} is the most"


def check_whitespace(path, text):
    if path.name == "LICENSE" or path.suffix == ".patch":
        return
    for number, line in enumerate(text.split("\n"), 1):
        if line != line.rstrip():
            yield number, "white space at the end of the line"
    if text and not text.endswith("\n"):
        yield line_of(text, len(text)), "no newline at the end of the file"


def check_script(path, text):
    if is_script(path, text):
        outcome = subprocess.run(["bash", "-n", str(path)], capture_output=True, text=True, check=False)
        if outcome.returncode != 0:
            yield 1, outcome.stderr.strip()
    elif path.suffix == ".py":
        try:
            ast.parse(text)
        except SyntaxError as error:
            yield error.lineno or 1, error.msg


def check_paths(_, text):
    for match in MACHINE_PATH.finditer(text):
        yield line_of(text, match.start()), f"a path of one machine: {match.group()}"
    for match in REGISTRY.finditer(text):
        yield line_of(text, match.start()), "the lock file names a registry's host"


def slugs(text):
    """The anchors that GitHub makes of a page's headings."""
    headings = re.findall(r"^#+\s+(.*)$", FENCE.sub("", text), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


def check_links(path, text):
    if path.suffix != ".md":
        return
    prose = FENCE.sub(lambda match: "\n" * match.group().count("\n"), text)
    for match in LINK.finditer(prose):
        target, _, anchor = match.group(1).partition("#")
        if re.match(r"[a-z]+:", target):
            continue
        place = (path.parent / target) if target else path
        if not place.exists():
            yield line_of(prose, match.start()), f"the link leads nowhere: {match.group(1)}"
        elif anchor and place.suffix == ".md" and anchor not in slugs(place.read_text(encoding="utf-8")):
            yield line_of(prose, match.start()), f"no such heading: {match.group(1)}"


def check_patch(path, _):
    """A patch of planted defects must apply to the sources that it changes."""
    if path.suffix != ".patch":
        return
    done = subprocess.run(["git", "apply", "--check", path], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        yield 1, f"the patch does not apply: {done.stderr.splitlines()[0]}"


CHECKS = [check_patch, check_size, check_whitespace, check_script, check_paths, check_links]


def main():
    faults = 0
    for path in tracked():
        text = read(path)
        if text is None:
            continue
        for check in CHECKS:
            for line, what in check(path, text):
                print(f"{path}:{line}: {what}")
                faults += 1
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
