"""Files that are whole or not there."""

from __future__ import annotations

import os
from pathlib import Path


def write_atomically(path: Path, content: str | bytes) -> None:
    """Write beside ``path``, then rename: a reader never sees half a file."""
    beside = path.with_name(path.name + ".part")
    data = content.encode() if isinstance(content, str) else content
    try:
        with open(beside, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)
