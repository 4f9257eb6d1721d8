"""`python -m fivegates` is the `fivegates` command."""

import sys

from fivegates.cli import main

sys.exit(main())
