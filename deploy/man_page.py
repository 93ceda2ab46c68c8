#!/usr/bin/env python3
"""man_page.py PROGRAM VERSION OUTPUT: the manual page of a program of fathom's, gzipped, made of what its --help says.

The pages say what --help does, and cannot differ from it: a line of names, what the program is about, its flags and
examples. `fathom` has commands, each of which becomes a section of its page.
"""

import gzip
import pathlib
import re
import subprocess
import sys

# Written in ASCII; everything else would depend on who reads it.
ESCAPES = {"\\": "\\e", "-": "\\-", "'": "\\(aq", "`": "\\(ga", "^": "\\(ha", "~": "\\(ti"}


def escaped(text):
    out = "".join(ESCAPES.get(letter, letter) for letter in text)
    return "\\&" + out if out.startswith(".") else out


def help_of(program, *words):
    return subprocess.run([program, *words, "--help"], capture_output=True, text=True, check=True).stdout


def sections(text):
    """[(title, [line])] of a help: the first has no title; others begin with 'title:' at a line's begin."""
    found = [("", [])]
    for line in text.splitlines():
        if re.fullmatch(r"[a-z ]+:", line):
            found.append((line[:-1], []))
        else:
            found[-1][1].append(line)
    return found


def entries(lines):
    """[(label, text)] of a list in two columns."""
    found = []
    for line in lines:
        whole = re.match(r"  (\S.*?)(?:  +(\S.*))?$", line)
        if whole and not line.startswith("   "):
            found.append([whole[1], whole[2] or ""])
        elif line.strip() and found:
            found[-1][1] += " " + line.strip()
    return found


def paragraphs(lines):
    return [part.replace("\n", " ") for part in re.split(r"\n\s*\n", "\n".join(lines).strip()) if part]


def options(lines):
    return [line for label, text in entries(lines) for line in (".TP", f".B {escaped(label)}", escaped(text))]


def verbatim(lines):
    body = "\n".join(lines).strip("\n").splitlines()
    return [".PP", ".nf", *[escaped(line[2:] if line.startswith("  ") else line) for line in body], ".fi"]


def begin_of(lines):
    """What stands before the flags: (usage, paragraphs, the list of flags)."""
    at = next((i for i, line in enumerate(lines) if line.startswith("  ")), len(lines))
    usage = next((line for line in lines if line.startswith("usage: ")), "")
    about = [line for line in lines[1:at] if not line.startswith("usage: ")]
    return usage.removeprefix("usage: "), paragraphs(about), lines[at:]


def described(text, heading):
    """Of a program or a command: its description, flags and examples, each below `heading`(title)."""
    (_, first), *others = sections(text)
    usage, about, flags = begin_of(first)
    out = [heading("SYNOPSIS"), f".B {escaped(usage)}"] + ([heading("DESCRIPTION")] if about else [])
    for paragraph in about:
        out += [".PP", escaped(paragraph)]
    if flags:
        out += [heading("OPTIONS"), *options(flags)]
    for title, lines in others:
        out += [heading(title.upper()), *verbatim(lines)]
    return out


def command_names(text):
    return [label for title, lines in sections(text) if title == "commands" for label, _ in entries(lines)]


def page(program, version):
    name = pathlib.Path(program).name
    text = help_of(program)
    summary = text.splitlines()[0].removeprefix(name + ": ").rstrip(".")
    out = [f'.TH {name.upper()} 1 "" "fathom {version}" "fathom"', ".SH NAME", f"{escaped(name)} \\- {escaped(summary)}"]
    out += described(text, lambda title: ".SH " + title)
    for command in command_names(text):
        out += [f".SH {escaped(f'{name} {command}'.upper())}"]
        out += described(help_of(program, command), lambda title: f".SS {title.capitalize()}")
    out += [".SH SEE ALSO", "The documentation is in the sources of fathom, below", ".IR docs/ ."]
    return "\n".join(out) + "\n"


def main():
    program, version, output = sys.argv[1:]
    with open(output, "wb") as file:  # without a time, so that the same sources give the same file
        file.write(gzip.compress(page(program, version).encode("ascii", "replace"), 9, mtime=0))


if __name__ == "__main__":
    main()
