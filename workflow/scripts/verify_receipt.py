"""Verify a receipt: exit 0 supported, 1 not, 2 receipt invalid, 3 preflight passed."""

import sys

from fivegates.cli import main

if __name__ == "__main__":
    sys.exit(main(["verify", *sys.argv[1:]]))
