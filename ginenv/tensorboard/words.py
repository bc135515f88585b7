"""A hand as a table of Markdown, for TensorBoard's Text."""

from __future__ import annotations

import re
from typing import Any

SUITS = {"c": "♣", "d": "♦", "h": "♥", "s": "♠"}


def best_hand(game: dict[str, Any]) -> int:
    """The hand of the game with the most points, its place in ``hands``; of several the first."""
    points = [hand["result"]["points"] for hand in game["hands"]]
    return points.index(max(points))


def table(game: dict[str, Any], number: int) -> str:
    """A hand move by move: who did what, and both hands after it with their deadwood.

    ``game``: from :func:`ginenv.tensorboard.frames.expand`.
    """
    hand = game["hands"][number]
    names = [_plain(game["players"][player]) for player in hand["seats"]]
    of = f"Hand {number + 1} of {len(game['hands'])}: " if len(game["hands"]) > 1 else ""
    lines = [
        f"**{of}{names[0]} against {names[1]}.** {_plain(hand['ending'])}",
        "",
        f"| | | {names[0]} | | {names[1]} | |",
        "|---:|---|---|---:|---|---:|",
    ]
    for move, frame in enumerate(hand["frames"]):
        cells = [str(move), _done(frame["last"], names)]
        for held in frame["hands"]:
            cells += [_hand(held), str(held["points"])]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _done(last: dict[str, Any] | None, names: list[str]) -> str:
    if last is None:
        return "dealt"
    card = f" {shown(last['card'])}" if last["card"] else ""
    return f"{names[last['seat']]}: {last['what']}{card}"


def _hand(held: dict[str, Any]) -> str:
    """Melds side by side, then the deadwood, then what was laid off."""
    parts = [" ".join(map(shown, meld)) for meld in held["melds"]]
    parts += [" ".join(map(shown, held["rest"])) or "-"]
    if held.get("laid_off"):
        parts.append(f"laid off {' '.join(map(shown, held['laid_off']))}")
    return " · ".join(parts)


def shown(card: str) -> str:
    """``"Td"`` as ``10♦``."""
    return ("10" if card[0] == "T" else card[0]) + SUITS[card[1]]


def _plain(name: str) -> str:
    """A name that Markdown and HTML take as it is."""
    return re.sub(r"([^\w\s])", lambda sign: f"&#{ord(sign[0])};", name)
