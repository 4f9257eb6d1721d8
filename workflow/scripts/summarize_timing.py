"""Gate 3: what the raw samples of all sessions say together."""

import sys

from fivegates.gate import gate_parser, guarded, open_desk


def main(argv: list[str] | None = None) -> int:
    desk = open_desk(gate_parser(__doc__).parse_args(argv))
    if refusal := desk.barred:
        desk.refuse(refusal)
    else:
        desk.finish(declared={}, measured={})
    return 0


if __name__ == "__main__":
    sys.exit(guarded(main))
