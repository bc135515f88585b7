"""How hands ended while training, for TensorBoard: kinds, turns, points, deadwood at knocks."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ginenv import engine, scoring


@dataclass(slots=True)
class HandCounts:
    """What happened to the hands that ended in a rollout."""

    kinds: NDArray[np.int64] = field(
        default_factory=lambda: np.zeros(len(scoring.KINDS), dtype=np.int64)
    )
    turns: int = 0
    points: int = 0
    knock_deadwood: int = 0

    def count(self, hands: engine.State, lanes: NDArray[np.intp], movers: NDArray[np.intp]) -> None:
        """Hands that have ended on these lanes; ``movers`` [B]: who ended each."""
        kinds = np.bincount(hands.kind[lanes], minlength=len(scoring.KINDS))
        self.kinds += kinds
        self.turns += int(hands.turn[lanes].sum()) + int(kinds[: scoring.DEAD].sum())
        self.points += int(hands.points[lanes].sum())
        self.knock_deadwood += int(hands.deadwood[lanes, movers[lanes]].sum())

    def add(self, others: HandCounts) -> None:
        """Count those too."""
        self.kinds += others.kinds
        self.turns += others.turns
        self.points += others.points
        self.knock_deadwood += others.knock_deadwood

    def figures(self) -> dict[str, float]:
        """How many hands ended, and their rates, by tag; nothing if none has."""
        hands = int(self.kinds.sum())
        if not hands:
            return {}
        rates = {
            f"hands/{name}": int(self.kinds[code]) / hands
            for code, name in enumerate(scoring.KINDS)
            if code not in (scoring.PLAYING, scoring.FORFEIT)
        }
        scored = hands - int(self.kinds[scoring.DEAD])
        knocks = int(self.kinds[[scoring.KNOCK, scoring.UNDERCUT, scoring.TIE]].sum())
        return rates | {
            "hands/ended": hands,
            "hands/turns_each": self.turns / hands / 2,
            "hands/points_of_winner": self.points / max(scored, 1),
            "hands/knock_deadwood": self.knock_deadwood / max(knocks, 1),
        }
