"""Ways to play at random that together reach every end of a hand."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Style:
    """How a lane is played."""

    closes: float
    """Chance to knock, or go gin, when that is legal."""
    waits_for: int
    """Most deadwood that it knocks with: 0 waits for gin, -1 for big gin."""
    thinks: bool
    """Draws and throws what leaves the least deadwood, or else anything."""
    takes: float
    """Chance to take from the pile, when it does not think."""
