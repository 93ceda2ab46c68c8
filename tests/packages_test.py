"""Makes the Debian packages of this build in FATHOM_PACKAGES, for the tests that look at them and install them."""

import os
import pathlib
import shutil
import unittest

from harness import packages
from harness.main import main


@unittest.skipIf(packages.missing(), packages.missing())
class Packages(unittest.TestCase):
    def test_all_are_made(self):
        directory = pathlib.Path(os.environ["FATHOM_PACKAGES"])
        shutil.rmtree(directory, ignore_errors=True)
        self.assertEqual(tuple(sorted(packages.build(directory))), packages.NAMES)


if __name__ == "__main__":
    main()
