"""Gin or nothing: expert's draws and discards, and never a knock that leaves deadwood.

Against players who knock as soon as they may this does nearly as well as anything: what they knock
with is undercut in a third of the hands. Among those who wait for gin too it is the slowest. The
EAAI 2021 Gin Rummy challenge (http://cs.gettysburg.edu/projects/gin/) saw such players.
"""

from __future__ import annotations

from agents.expert import PUBLISHED, Expert, Weights


class Patient(Expert):
    """Never knocks with deadwood, unless nothing else is legal."""

    def __init__(self, weights: Weights = PUBLISHED) -> None:
        super().__init__(last_knock=0, weights=weights)
