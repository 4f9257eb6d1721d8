"""Decide whether a GPU kernel speedup claim survives five gates of evidence.

Rooms: the core decides and touches nothing outside itself; `store` and `schema` own
files; `device`, `launch` and `held_queue` own the GPU; `tools` and `host` own child
processes. Scripts in `workflow/scripts/` join them. See docs/gates.md.
"""

__version__ = "0.1.0"
