"""Ended hands -> who won and what he scores."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ginenv import cards, melds
from ginenv.rules import Rules

KINDS = ("playing", "knock", "gin", "big_gin", "undercut", "tie", "dead", "forfeit")
"""The ways a hand ends, in the order of their codes; 0 while it is played."""
PLAYING, KNOCK, GIN, BIG_GIN, UNDERCUT, TIE, DEAD, FORFEIT = range(len(KINDS))


class Showdown(NamedTuple):
    """Both hands as laid down after a knock, gin or big gin, [N] each."""

    knocker_sets: NDArray[np.uint64]
    knocker_runs: NDArray[np.uint64]
    defence: melds.Defence
    knocker_deadwood: NDArray[np.uint8]
    defender_deadwood: NDArray[np.uint8]
    """After lay-offs."""


def lay_down(
    knockers: NDArray[np.uint64], defenders: NDArray[np.uint64], maybe: NDArray[np.uint64]
) -> Showdown:
    """Lay both hands down, uint64 [N] each.

    ``maybe``: the cards that, for all the knocker knows, may be in the defender's hand. Nothing
    is laid off on a hand without deadwood (gin, big gin).
    """
    sets, runs = melds.knocker_arrangement(knockers, maybe)
    left = knockers & ~(sets | runs)
    open_to_layoffs = left != 0
    nothing = np.uint64(0)
    defence = melds.lay_off(
        defenders,
        np.where(open_to_layoffs, sets, nothing),
        np.where(open_to_layoffs, runs, nothing),
    )
    return Showdown(sets, runs, defence, cards.points(left), cards.points(defence.left))


class Score(NamedTuple):
    """The outcome of N ended hands."""

    kind: NDArray[np.uint8]
    knocker_wins: NDArray[np.bool_]
    """False for an undercut; of no meaning for a tie that is a draw."""
    points: NDArray[np.int16]
    """What the winner scores, doublings included."""


def score(
    rules: Rules,
    showdown: Showdown,
    big_gin: NDArray[np.bool_],
    factor: NDArray[np.int16],
) -> Score:
    """Score hands that a knock, gin or big gin has ended, [N]; ``factor`` holds the doublings."""
    k = showdown.knocker_deadwood.astype(np.int16)
    d = showdown.defender_deadwood.astype(np.int16)
    tied = TIE if rules.tie == "draw" else UNDERCUT
    kind = np.where(k < d, KNOCK, np.where(k > d, UNDERCUT, tied))
    kind = np.where(big_gin, BIG_GIN, np.where(k == 0, GIN, kind)).astype(np.uint8)
    bonus = np.array(
        [0, 0, rules.gin_bonus, rules.big_gin_bonus or 0, rules.undercut_bonus, 0, 0],
        dtype=np.int16,
    )
    points = (np.abs(d - k) + bonus[kind]) * factor
    return Score(kind, kind < UNDERCUT, points)


def forfeit_points(rules: Rules, deadwood: NDArray[np.uint8]) -> NDArray[np.int16]:
    """What the others score of N forfeited hands: as if they had gone gin, without doublings.

    ``deadwood``: the forfeiters' least, of the 10 or 11 cards that they hold.
    """
    return deadwood.astype(np.int16) + np.int16(rules.gin_bonus)
