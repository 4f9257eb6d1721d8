"""Gates 3 and 4 on the host: they need a device, so their records say `not-run`."""

import argparse
import sys

from fivegates.evidence import predecessors
from fivegates.gate import gate_parser, guarded, open_desk


def parse_args(argv: list[str] | None) -> argparse.Namespace:
    return gate_parser(__doc__, several=True).parse_args(argv)


def main(argv: list[str] | None = None) -> int:
    args = parse_args(argv)
    folder = args.claim.parent
    sessions = sum(output.parent != folder for output in args.output)
    for output in args.output:
        name = output.relative_to(folder).with_suffix("").as_posix()
        before = predecessors(name, "host", sessions)
        after = [folder / f"{record}.json" for record in before]
        own = {**vars(args), "output": output, "after": after}
        desk = open_desk(argparse.Namespace(**own))
        refusal = desk.barred
        if refusal is None:
            raise RuntimeError(f"{name}: {desk.backend.kind} may run, expected host")
        desk.refuse(refusal)
    return 0


if __name__ == "__main__":
    sys.exit(guarded(main))
