"""Gate 4: useful bytes of both arms against a copy bandwidth measured now."""

import sys

from fivegates.gate import Desk, gate_parser, guarded, open_desk


def probe(desk: Desk) -> None:
    from fivegates.bandwidth import measure_copies
    from fivegates.device import current_uuid

    operation, claim = desk.operation, desk.claim
    desk.finish(
        declared={
            "useful_bytes": operation.useful_bytes(claim.workload.sizes),
            "flops": operation.flops(claim.workload.sizes),
        },
        measured={"gpu_uuid": current_uuid(), "probes": measure_copies()},
    )


def main(argv: list[str] | None = None) -> int:
    desk = open_desk(gate_parser(__doc__).parse_args(argv))
    if refusal := desk.barred:
        desk.refuse(refusal)
    else:
        probe(desk)
    return 0


if __name__ == "__main__":
    sys.exit(guarded(main))
