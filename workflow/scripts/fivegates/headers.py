"""Where the CUDA toolkit's headers lie: NVIDIA's wheels, else an installed toolkit."""

import importlib
from pathlib import Path


def include_folder() -> Path | None:
    """Folder that holds cuda_fp16.h."""
    folder = _folder("cudart")
    return folder if folder and (folder / "cuda_fp16.h").is_file() else None


def include_options(source: str) -> list[str]:
    """What a compiler must be told so that `source` finds the headers it includes."""
    if "include" not in source:
        return []
    return [f"-I{path}" for path in map(_folder, ("cudart", "cccl")) if path]


def _folder(library: str) -> Path | None:
    try:
        pathfinder = importlib.import_module("cuda.pathfinder")
    except ImportError:
        return None
    folder = pathfinder.find_nvidia_header_directory(library)
    return Path(folder) if folder else None
