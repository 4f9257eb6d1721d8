"""What a user can get wrong, as one line of text each. A verdict is not an error."""


class EvidenceError(Exception):
    """Bad input or missing means; the text names file and field, found and expected."""


class ClaimError(EvidenceError):
    """A claim or kernel source that cannot be judged as written."""


class ContractError(EvidenceError):
    """A contract that breaks its own rules. No claim is to blame: it names its file."""


class ArtifactError(EvidenceError):
    """A record or artifact that is missing, malformed or not what its digest says."""


class ToolError(EvidenceError):
    """A compiler, sanitizer or driver that is missing or does not answer."""
