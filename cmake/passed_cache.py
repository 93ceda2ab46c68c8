"""A cache of the translation units that passed a check, shared by all clones on a machine.

The digest of a unit covers its text, the text of every header of this repository that it includes (directly or not;
generated headers too), and its flags.
"""

import functools
import hashlib
import os
import pathlib
import shutil
import subprocess

import translation_units


def salt_of(tool, *files):
    """A digest of the tool's version, the versions of the libraries' headers, and the content of the files."""
    digest = hashlib.sha256(subprocess.run([tool, "--version"], check=True, capture_output=True).stdout)
    if shutil.which("dpkg-query"):
        digest.update(subprocess.run(["dpkg-query", "-W", "lib*-dev"], check=True, capture_output=True).stdout)
    for file in (__file__, translation_units.__file__, *files):
        digest.update(pathlib.Path(file).read_bytes())
    return digest.digest()


@functools.cache
def digest_of_file(path):
    return hashlib.sha256(path.read_bytes()).digest()


class PassedCache:
    """The units that passed a check. Each has an empty file, named by the digest of all inputs of the check.

    All clones on a machine share the cache: $XDG_CACHE_HOME/NAME, or ~/.cache/NAME. `salt` stands for inputs besides the
    unit: the tool's version and its configuration.
    """

    def __init__(self, name, salt):
        base = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
        self.folder = pathlib.Path(base, name)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.salt = salt
        self.includes = translation_units.Includes()

    @functools.cache
    def stamp(self, unit):
        digest = hashlib.sha256(self.salt)
        # The digest must not depend on the clone's path.
        digest.update(" ".join((unit.compiler, *unit.flags)).replace(str(translation_units.ROOT), ".").encode())
        for path in sorted(self.includes.of(unit)):
            digest.update(str(path.relative_to(translation_units.ROOT)).encode() + digest_of_file(path))
        return self.folder / digest.hexdigest()

    def has(self, unit):
        return self.stamp(unit).exists()

    def add(self, unit):
        self.stamp(unit).touch()
