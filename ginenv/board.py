"""Hands and score sheets as text, for people to read."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ginenv import cards, engine, match, melds, observation
from ginenv.engine import State
from ginenv.match import NOBODY, Match

PLAYERS = ("player 0", "player 1", "player 2", "player 3")
_UNDER = "    "

_TURNS = {
    engine.OFFER: "{name} takes the {top} or passes.",
    engine.DEALER_OFFER: "{name} takes the {top} or passes.",
    engine.MUST_DRAW: "{name} draws from the stock.",
    engine.DRAW: "{name} draws from the stock or takes the {top}.",
    engine.LAST_OFFER: "{name} takes the {top} to end the hand with it, or passes.",
    engine.DISCARD: "{name} {drawn}, and discards or ends the hand.",
    engine.LAST_DISCARD: "{name} {drawn}, and ends the hand.",
}


def board(state: State, seat: int | None = None, names: Sequence[str] = PLAYERS) -> str:
    """A hand (a state of one lane) as a table to read, without a newline at its end.

    ``seat`` 0 or 1: only what that seat knows. None: both hands. ``names``: who sits at seats 0
    and 1. At the end it shows what was laid down and who scored what; of a dead hand, and of one
    that was forfeited, nothing is laid down.
    """
    if seat not in (None, 0, 1) or len(state) != 1:
        raise ValueError(f"seat={seat!r} of {len(state)} lanes: must be None, 0 or 1, of one lane")
    over = bool(state.over[0])
    result = engine.result(state, 0) if over else None
    lines = []
    for player in (0, 1):
        dealer = " (dealer)" if player == state.dealer[0] else ""
        if result is not None and result["kind"] not in ("dead", "forfeit"):
            title, hand = _laid_down(state, player, result)
        elif seat in (None, player):
            title, hand = _open_hand(int(state.hands[0, player]))
        else:
            title, hand = _hidden_hand(observation.view(state, np.array([1 - player])))
        lines += [f"{names[player]}{dealer}: {title}", _UNDER + hand]
    lines += _middle(state)
    lines.append(_turn(state, seat, names) if result is None else ending(state, result, names))
    return "\n".join(lines)


def _open_hand(hand: int) -> tuple[str, str]:
    sets, runs = melds.best_arrangement(np.array([hand], dtype=np.uint64))
    shown = [cards.format(meld) for meld in melds.split(int(sets[0]), int(runs[0]))]
    left = hand & ~int(sets[0] | runs[0])
    points = int(cards.points(np.array([left], dtype=np.uint64))[0])
    return f"deadwood {points}", _groups(shown, [("deadwood", cards.format(left))])


def _groups(shown: Sequence[str], rest: Sequence[tuple[str, str]]) -> str:
    """Melds side by side, then what is in none, each under its word."""
    return " | ".join([*shown, *(f"{word} {held}" for word, held in rest if held)])


def _hidden_hand(known: observation.View) -> tuple[str, str]:
    """The other hand, as far as this view goes."""
    taken = cards.format(known.opponent_known[0])
    unseen = int(known.opponent_unknown[0])
    count = len(taken.split()) + unseen
    return f"{count} cards", ", ".join(filter(None, [taken, f"{unseen} face down"]))


def _laid_down(state: State, player: int, result: dict[str, Any]) -> tuple[str, str]:
    """A hand as it was laid down after a knock, gin or big gin."""
    defends = player != state.mover[0]
    layoffs = result["layoffs"] if defends else []
    shown = result["melds"][player]
    left = int(state.hands[0, player]) & ~int(cards.parse(" ".join([*shown, *layoffs])))
    rest = [("deadwood", cards.format(left)), ("laid off", " ".join(layoffs))]
    word = {"gin": "gin, ", "big_gin": "big gin, "}.get(result["kind"], "knocked, ")
    ended = "" if defends else word
    return f"{ended}deadwood {result['deadwood'][player]}", _groups(shown, rest)


def _middle(state: State) -> list[str]:
    """Pile, stock and knock limit: what lies between the players."""
    pile = [cards.name(card) for card in state.pile[0, : state.pile_size[0]].tolist()]
    under = f", under it {' '.join(reversed(pile[:-1]))}" if len(pile) > 1 else ""
    left = int(state.stock_left[0])
    return [
        f"Pile: {pile[-1]} on top{under}" if pile else "Pile: empty",
        f"Stock: {left} card{'s' * (left != 1)}",
        f"Knock limit: {int(state.knock_limit[0])}",
    ]


def _turn(state: State, seat: int | None, names: Sequence[str]) -> str:
    """Whose move it is and what for."""
    mover = int(state.mover[0])
    drawn = "has drawn"
    card = int(state.drawn[0])
    if card != cards.NO_CARD:
        if state.seen[0] & cards.BIT[card]:
            drawn = f"has taken the {cards.name(card)}"
        elif seat in (None, mover):
            drawn = f"has drawn the {cards.name(card)}"
    top = int(state.top[0])
    upcard = "" if top == cards.NO_CARD else cards.name(top)
    return _TURNS[int(state.phase[0])].format(name=names[mover], top=upcard, drawn=drawn)


def ending(state: State, result: dict[str, Any], names: Sequence[str]) -> str:
    """Who scored what, and why: of a state of one lane that has ended, and its result."""
    rules, kind = state.rules, result["kind"]
    if kind == "dead":
        at_limit = state.turn[0] >= rules.turn_limit
        left = int(state.stock_left[0])
        why = f"{int(state.turn[0])} discards" if at_limit else f"{left} left in the stock"
        return f"The hand is dead ({why}): nobody scores."
    if kind == "forfeit":
        winner = result["winner"]
        return (
            f"{names[1 - winner]} forfeits; {names[winner]} scores {result['points']}: "
            f"{result['deadwood'][1 - winner]} + {rules.gin_bonus}."
        )
    low, high = sorted(result["deadwood"])
    if kind == "tie":
        return f"Both have {low}, a draw: nobody scores."
    bonus = {
        "gin": rules.gin_bonus,
        "big_gin": rules.big_gin_bonus,
        "undercut": rules.undercut_bonus,
    }.get(kind, 0)
    total = f"{high} - {low}" + (f" + {bonus}" if bonus else "")
    doubles = []
    lane = np.array([0])
    if engine.upcard_doubles(state, lane)[0]:
        doubles.append(f" x 2 for the upcard {cards.name(int(state.deck[0, 2 * rules.hand_size]))}")
    if engine.pile_doubles(state, lane)[0]:
        doubles.append(f" x 2 for the {cards.name(int(state.top[0]))} on the pile")
    total = f"({total}){''.join(doubles)}" if doubles else total
    word = kind.replace("_", " ")
    return f"{names[result['winner']]} scores {result['points']}: {word}, {total}."


def score_sheet(sheets: Match, lane: int = 0, names: Sequence[str] = PLAYERS) -> str:
    """The sheet of a lane's game as a table to read, without a newline at its end.

    ``names``: of the players in order. It shows each side's points and boxes, column by column,
    and who deals, or after the game's end the finals and the settlement.
    """
    sheet, rules = sheets.take(np.array([lane])), sheets.rules
    sides = [_side(sheet, side, names) for side in range(rules.num_sides)]
    table = [["", *_headings(rules.num_columns)], *([side] for side in sides)]
    for column in range(rules.num_columns):
        for row, points, boxes in zip(
            table[1:], sheet.totals[0, column], sheet.boxes[0, column], strict=True
        ):
            row += [str(points), str(boxes)]
    if rules.best_of > 1:
        _add_column(table, "games", sheet.games_won[0])
    winner = int(sheet.winner[0])
    if winner != NOBODY:
        _add_column(table, "final", match.finals(sheet)[0])
        _add_column(table, "settlement", match.settlement(sheet)[0])
    if rules.num_columns > 1 and (sheet.closed_by[0] != NOBODY).any():
        closers = ["" if by == NOBODY else sides[by] for by in sheet.closed_by[0].tolist()]
        table.append(["closed by", *(cell for name in closers for cell in (name, ""))])
    games = f", best of {rules.best_of} games" if rules.best_of > 1 else ""
    lines = [f"Score, to {rules.target}{games}", *_aligned(table)]
    return "\n".join([*lines, _who(sheet, winner, sides)])


def _side(sheet: Match, side: int, names: Sequence[str]) -> str:
    if sheet.rules.seating == "partnership":
        return f"{names[side]} & {names[side + 2]}"
    return names[side]


def _headings(columns: int) -> list[str]:
    if columns == 1:
        return ["points", "boxes"]
    return [word for number in range(1, columns + 1) for word in (f"column {number}", "boxes")]


def _add_column(table: list[list[str]], heading: str, figures: Iterable[Any]) -> None:
    """A column with a figure for each side."""
    for row, word in zip(table, [heading, *map(str, figures)], strict=True):
        row.append(word)


def _aligned(table: Sequence[Sequence[str]]) -> list[str]:
    """Rows as lines: the first cell to the left, the others to the right."""
    size = max(map(len, table))
    rows = [[*row, *[""] * (size - len(row))] for row in table]
    widths = [max(map(len, cells)) for cells in zip(*rows, strict=True)]
    return [
        "  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]).rstrip()
        for row in rows
    ]


def _who(sheet: Match, winner: int, sides: Sequence[str]) -> str:
    """Who deals, or who has won."""
    pair = sheet.rules.seating == "partnership"
    if winner == NOBODY:
        out = " and sits out" if sheet.rules.seating == "cutthroat" else ""
        return f"{sides[int(sheet.dealer[0])]} {'deal' if pair else 'deals'}{out}."
    won = "the match" if sheet.rules.best_of > 1 and sheet.over[0] else "the game"
    return f"{sides[winner]} {'win' if pair else 'wins'} {won}."
