"""The translation units of a build, and the headers that each includes, directly or not.

Headers are found as the compiler finds them: beside the including file, then in the directories that the flags name. A
conditional include counts as an include.
"""

import collections
import functools
import json
import pathlib
import re
import shlex

ROOT = pathlib.Path(__file__).resolve().parent.parent
INCLUDE = re.compile(rb'^[ \t]*#[ \t]*include[ \t]*[<"]([^>"\n]+)[>"]', re.MULTILINE)
INCLUDE_OR_DEFINE = re.compile(rb'^[ \t]*#[ \t]*(?:include[ \t]*[<"]([^>"\n]+)[>"]|define)', re.MULTILINE)

# These flags change the generated code only, and the first names a file relative to the build directory.
CODE_GENERATION_FLAGS = ("-fsanitize-blacklist=", "-fno-sanitize=object-size")

# `compiler` is the compiler's path, `flags` what it is given besides the source and the output.
Unit = collections.namedtuple("Unit", "source compiler flags")


def split_command(command):
    """(compiler, flags) of a command line, without launcher, input and output."""
    words = shlex.split(command)
    first = next(i for i, word in enumerate(words) if word.startswith("-"))
    flags = []
    rest = iter(words[first:])
    for word in rest:
        if word in ("-o", "-c", "-MT", "-MF"):
            next(rest)
        elif word != "-MD" and not word.startswith(CODE_GENERATION_FLAGS):
            flags.append(word)
    return words[first - 1], tuple(flags)


def members(source, build):
    """The sources of a unity batch; the source itself when it is compiled alone; none of generated code."""
    if not source.is_relative_to(build):
        return [source]
    if "/unity/" not in str(source):
        return []
    return [ROOT / name.decode() for name in INCLUDE.findall(source.read_bytes())]


def units_of(build, keep):
    """Every unit of ours whose source `keep` accepts, once for each set of flags that it is compiled with."""
    units = set()
    for entry in json.loads((build / "compile_commands.json").read_text(encoding="utf-8")):
        source = pathlib.Path(entry["directory"], entry["file"]).resolve()
        for member in members(source, build):
            if not member.is_relative_to(build) and keep(member):
                units.add(Unit(member, *split_command(entry["command"])))
    return sorted(units)


class Includes:
    """The files of this repository that a unit consists of."""

    def __init__(self):
        self.direct = {}

    def of(self, unit):
        directories = self.directories(unit.flags)
        reached, pending = {unit.source}, [unit.source]
        while pending:
            for header in self.included_by(pending.pop(), directories):
                if header not in reached:
                    reached.add(header)
                    pending.append(header)
        return reached

    def first(self, unit):
        """The file of this repository that the unit's source includes first; None if that is another project's."""
        names = INCLUDE.findall(unit.source.read_bytes())
        return self.find(names[0].decode(), unit.source, self.directories(unit.flags)) if names else None

    @staticmethod
    @functools.cache
    def directories(flags):
        """The include directories that are inside this repository."""
        found = []
        for flag, following in zip(flags, flags[1:] + ("",)):
            directory = following if flag in ("-I", "-isystem") else flag[2:] if flag.startswith("-I") else None
            if directory and pathlib.Path(directory).is_relative_to(ROOT):
                found.append(pathlib.Path(directory))
        return tuple(found)

    def included_by(self, path, directories):
        if (path, directories) not in self.direct:
            names = [name.decode() for name in INCLUDE.findall(path.read_bytes())]
            found = (self.find(name, path, directories) for name in names)
            self.direct[path, directories] = [header for header in found if header]
        return self.direct[path, directories]

    @staticmethod
    def find(name, path, directories):
        """The file of this repository that `path` includes as `name`; None for another project's header."""
        places = (place / name for place in (path.parent, *directories))
        return next((place.resolve() for place in places if place.is_file()), None)

    def leading_third_party_headers(self, unit):
        """The names of other projects' headers that a unit includes before any declaration or macro of this repository."""
        directories, path, names = self.directories(unit.flags), unit.source, []
        while path:
            path = self.add_leading(path, directories, names)
        return names

    def add_leading(self, path, directories, names):
        """Adds the names of other projects' headers that `path` begins with; returns our header that follows, if any."""
        for name in INCLUDE_OR_DEFINE.findall(path.read_bytes()):
            header = name and self.find(name.decode(), path, directories)
            if header or not name:
                return header or None
            names.append(name.decode())
        return None
