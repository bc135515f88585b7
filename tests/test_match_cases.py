"""The match cases of cases.json (or of the file in ``GINENV_CASES``): each scored on the engine's
sheet and on the reference's. A case that is not fully understood fails."""

from __future__ import annotations

import dataclasses
import re
from typing import Any

import numpy as np
import pytest
from reference_match import HandResult, ReferenceMatch, Table
from test_cases import cases_of, check_each, check_hand_keys

from ginenv import match
from ginenv.rules import FIELDS, PRESETS, Rules, preset

CASE_BOX = 25
"""What a box is worth in the cases unless they say otherwise."""


class EngineMatch:
    """One lane of the engine's match with the reference's words."""

    def __init__(self, rules: Rules, dealer: int) -> None:
        self.match = match.start(rules, np.array([dealer]))

    @property
    def seats(self) -> list[Table]:
        return [tuple(table) for table in match.seats(self.match)[0].tolist()]

    @property
    def dealer_seats(self) -> list[int]:
        return match.dealer_seats(self.match)[0].tolist()

    @property
    def dealer(self) -> int:
        return int(self.match.dealer[0])

    @property
    def rounds(self) -> int:
        return int(self.match.rounds[0])

    @property
    def totals(self) -> list[list[int]]:
        return self.match.totals[0].tolist()

    @property
    def boxes(self) -> list[list[int]]:
        return self.match.boxes[0].tolist()

    @property
    def closed_by(self) -> list[int | None]:
        return [None if side < 0 else side for side in self.match.closed_by[0].tolist()]

    @property
    def winner(self) -> int | None:
        side = int(self.match.winner[0])
        return None if side < 0 else side

    @property
    def games_won(self) -> list[int]:
        return self.match.games_won[0].tolist()

    @property
    def settled(self) -> list[int]:
        return self.match.settled[0].tolist()

    @property
    def over(self) -> bool:
        return bool(self.match.over[0])

    def enter(self, results: list[HandResult]) -> list[int]:
        winners = [[-1 if seat is None else seat for seat, _ in results]]
        points = [[points for _, points in results]]
        entered = match.enter(self.match, np.array([0]), np.array(winners), np.array(points))
        return entered[0].tolist()

    def settlement(self) -> list[int]:
        return match.settlement(self.match)[0].tolist()

    def finals(self) -> list[int]:
        return match.finals(self.match)[0].tolist()

    def next_game(self) -> None:
        match.next_game(self.match, np.array([0]), np.random.default_rng(0))


Scorer = type[EngineMatch] | type[ReferenceMatch]


@pytest.fixture(params=[EngineMatch, ReferenceMatch], ids=["engine", "reference"])
def scorer(request: pytest.FixtureRequest) -> Scorer:
    return request.param


def read_match_rules(text: str) -> Rules:
    """The rules that a match case's ``rules`` line stands for, read clause by clause."""
    base, changes = "classic", {"box_bonus": CASE_BOX}
    numbers = {
        "target": r"(?:game|each column|columns?|each game|played|first) to (\d+)(?: points)?",
        "game_bonus": r"game bonus(?: of)? (\d+)",
        "box_bonus": r"box(?:es)?(?: bonus)?(?: of)? (\d+)",
        "shutout_bonus": r"shutout(?: bonus)?(?: of)? \+?(\d+)",
        "partners_bonus": r"partners'? bonus(?: of)? (\d+)",
        "best_of": r"best of (\d+)",
    }
    nothing = {
        "box_bonus": r"no box(?:es)?(?: bonus)?",
        "game_bonus": r"no game bonus",
        "shutout_bonus": r"no shutout(?: bonus| rule)?",
        "partners_bonus": r"no partners'? bonus",
    }
    # These say how the case is written.
    notes = ("winner index 0/1", "none = dead hand", "null = dead hand")
    for clause in filter(None, map(str.strip, re.split(r"[,;]", text.lower()))):
        if clause in notes:
            continue
        if clause.removeprefix("preset ") in PRESETS:
            assert base == "classic", f"two variants: {text!r}"
            base = clause.removeprefix("preset ")
            continue
        for field in numbers:
            if found := re.fullmatch(numbers[field], clause):
                changes[field] = int(found[1])
                break
            if field in nothing and re.fullmatch(nothing[field], clause):
                changes[field] = 0
                break
        else:
            found = re.fullmatch(r"(\w+) ?= ?(\w+)", clause)
            assert found, f"rules not understood: {clause!r} in {text!r}"
            assert found[1] in FIELDS, f"rules not understood: {clause!r} in {text!r}"
            value = found[2]
            changes[found[1]] = int(value) if value.isdigit() else value
    return preset(base, **changes)


def read_side(text: str | None) -> int | None:
    """ "side A" and "A" are 0, "side B" and "B" 1; "dead" and the like are nobody."""
    if text is None or text in ("dead", "tie", "draw", "none", "nobody"):
        return None
    found = re.fullmatch(r"(?:side )?([AB])", text)
    assert found, f"side not understood: {text!r}"
    return "AB".index(found[1])


def read_hand(winner: Any, points: int) -> HandResult:
    assert winner in (None, 0, 1), f"winner not understood: {winner!r}"
    assert winner is not None or points == 0, f"nobody won, and yet {points} points"
    return winner, points


@pytest.mark.parametrize("case", cases_of("match"))
def test_match_cases(case: dict[str, Any], scorer: Scorer) -> None:
    rules = read_match_rules(case["rules"])
    if rules.seating == "partnership":
        check_round(case, scorer, rules)
    else:
        check_game(case, scorer, rules)


def check_game(case: dict[str, Any], scorer: Scorer, rules: Rules) -> None:
    """A game of two, entered hand by hand until it is over."""
    assert rules.seating == "heads_up", f"{case['id']}: who sits where is not said"
    assert rules.best_of == 1, f"{case['id']}: where a game ends is not said"
    check_hand_keys(case, ["hand_results"])
    assert case["action"] in ("score the match", "score the game", "enter all hands")
    hands = [read_hand(*hand) for hand in case["hands"]["hand_results"]]

    def play(**changes: Any) -> EngineMatch | ReferenceMatch:
        game = scorer(dataclasses.replace(rules, **changes), 0)
        for hand in hands:
            if game.winner is None:
                game.enter([hand])
        return game

    game = play()
    # Hands that come too late are left out only where the case counts those that were played.
    assert game.rounds == len(hands) or "hands_played" in case["expected"]
    no_shutout_rule = play(shutout_bonus=0).finals()
    shutout = game.winner is not None and any(
        column[1 - closer] == 0 for column, closer in zip(game.totals, game.closed_by, strict=True)
    )
    answers: dict[str, Any] = {
        "hands_played": game.rounds,
        "over": game.over,
        "winner": game.winner,
        "shutout": shutout,
        "final": game.finals(),
        "final_no_shutout_rule": no_shutout_rule,
        "final_flat_100": play(shutout_bonus=100).finals(),
        "settlement": game.settlement(),
        "closed_by": game.closed_by,
    }
    if rules.score_sheet == "hollywood":
        answers |= {"columns": game.totals, "boxes": game.boxes}
    else:
        answers |= {"running": game.totals[0], "boxes": game.boxes[0]}
        # Schools that RULES.md does not follow: a shutout doubles the final, or the hands' points.
        twice = 2 if shutout else 1
        winners = [side == game.winner for side in (0, 1)]
        answers["final_double_everything"] = [twice * final for final in no_shutout_rule]
        answers["final_double_hand_points_only"] = [
            final + (twice - 1) * total * won
            for final, total, won in zip(no_shutout_rule, game.totals[0], winners, strict=True)
        ]
    check_each(case, answers)


def check_round(case: dict[str, Any], scorer: Scorer, rules: Rules) -> None:
    """One round of two hands, side A of players 0 and 2, side B of 1 and 3."""
    check_hand_keys(case, ["hands_of_round"])
    assert case["action"] == "score the round"
    hands = [read_hand(read_side(side), points) for side, points in case["hands"]["hands_of_round"]]
    # Whoever deals, and whichever of the two tables a hand was played at.
    for dealer, results in ((0, hands), (1, hands[::-1])):
        game = scorer(rules, dealer)
        entered = game.enter(results)
        (boxes,) = game.boxes
        assert game.totals == [entered]
        assert sum(boxes) <= 1
        winner = boxes.index(1) if any(boxes) else None
        answers = {"side": winner, "points": sum(entered), "boxes": sum(boxes)}
        check_each(case, answers, side=read_side)


@pytest.mark.parametrize(
    "text",
    ["game to 100, wild deuces", "partnership, partner_bonus=0", "Hollywood, oklahoma", "to 100"],
)
def test_rules_that_are_not_understood_fail(text: str) -> None:
    with pytest.raises(AssertionError, match=r"not understood|two variants"):
        read_match_rules(text)


def test_rules_of_a_case_are_read_clause_by_clause() -> None:
    text = "game to 150, game bonus 50, box 20; winner index 0/1, None = dead hand"
    assert read_match_rules(text) == Rules(target=150, game_bonus=50, box_bonus=20)
    assert read_match_rules("partnership, partners_bonus=0") == preset(
        "partnership", partners_bonus=0, box_bonus=25
    )
    assert read_match_rules("Hollywood, each column to 50, no box").box_bonus == 0
