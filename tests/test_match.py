"""Score sheets: games worked out by hand, on the engine's sheet and on the reference's; then many
random matches at once, every lane beside a reference of its own."""

from __future__ import annotations

import dataclasses
import random
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference_match import HandResult, ReferenceMatch
from test_match_cases import EngineMatch, Scorer

from ginenv import match
from ginenv.rules import PRESETS, Rules, RulesError, preset

DEAD: tuple[None, int] = (None, 0)
"""A hand without a winner."""
ARRAYS = tuple(field.name for field in dataclasses.fields(match.Match) if field.name != "rules")
MIXTURES = 60
LANES = 6


@pytest.fixture(params=[EngineMatch, ReferenceMatch], ids=["engine", "reference"])
def scorer(request: pytest.FixtureRequest) -> Scorer:
    return request.param


def enter(game: EngineMatch | ReferenceMatch, *hands: tuple[int | None, int]) -> list[int]:
    """Enter hands one after another as (player who won, points): what the last one entered."""
    for player, points in hands:
        assert game.winner is None
        (table,) = game.seats
        entered = game.enter([(None if player is None else table.index(player), points)])
    return entered


# Heads up, one column.


def test_a_game_without_a_shutout(scorer: Scorer) -> None:
    game = scorer(Rules(), 0)
    assert enter(game, (0, 12)) == [12, 0]
    assert enter(game, (1, 43)) == [0, 43]
    assert enter(game, (0, 31)) == [31, 0]
    assert (game.winner, game.closed_by, game.over) == (None, [None], False)
    assert game.settlement() == [0, 0]
    assert enter(game, (0, 60)) == [60, 0]
    # 12 + 31 + 60 = 103 and 43.
    assert game.totals == [[103, 43]]
    assert game.boxes == [[3, 1]]
    assert (game.winner, game.closed_by, game.over) == (0, [0], True)
    # 103 + 3 x 20 + 100 = 263; 43 + 20 = 63; 263 - 63 = 200.
    assert game.finals() == [263, 63]
    assert game.settlement() == game.settled == [200, -200]
    assert game.games_won == [1, 0]
    assert game.rounds == 4


def test_a_shutout(scorer: Scorer) -> None:
    game = scorer(Rules(), 1)
    enter(game, (1, 45), DEAD, (1, 30), (1, 28))
    # 45 + 30 + 28 = 103; 103 + 3 x 20 + 100 + 100 = 363 against nothing.
    assert game.totals == [[0, 103]]
    assert game.boxes == [[0, 3]]
    assert game.finals() == [0, 363]
    assert game.settlement() == [-363, 363]
    assert game.rounds == 4


def test_a_win_of_no_points_is_a_box_and_saves_nobody_from_a_shutout(scorer: Scorer) -> None:
    # An undercut bonus of 0 and equal deadwood: the defender wins the hand, and no point.
    game = scorer(Rules(undercut_bonus=0), 0)
    assert enter(game, (1, 0)) == [0, 0]
    assert game.boxes == [[0, 1]]
    assert game.dealer == 0
    enter(game, (0, 100))
    # 100 + 20 + 100 + 100 = 320; one box of 20; 320 - 20 = 300.
    assert game.finals() == [320, 20]
    assert game.settlement() == [300, -300]


def test_an_undercut_ends_the_game_for_who_scores_it(scorer: Scorer) -> None:
    game = scorer(Rules(), 0)
    enter(game, (0, 90), (1, 80))
    # Player 0 knocks with 7 and player 1 has 7: 0 + 25 for player 1, who has 80 + 25 = 105.
    enter(game, (1, 25))
    assert game.winner == 1
    # 105 + 2 x 20 + 100 = 245; 90 + 20 = 110; 245 - 110 = 135.
    assert game.finals() == [110, 245]
    assert game.settlement() == [-135, 135]


def test_the_target_is_reached_exactly_and_not_by_boxes(scorer: Scorer) -> None:
    game = scorer(Rules(), 0)
    enter(game, (0, 50), (0, 49))
    # 99, and two boxes of 20 that do not count yet.
    assert game.winner is None
    enter(game, (0, 1))
    assert game.totals == [[100, 0]]
    assert game.winner == 0


@pytest.mark.parametrize("target", [1, 50, 150, 250, 500, 10_000])
def test_the_target_is_a_field(scorer: Scorer, target: int) -> None:
    game = scorer(Rules(target=target), 0)
    enter(game, (1, target - 1))
    assert game.winner is None
    enter(game, (1, 1))
    assert game.winner == 1


def test_the_winner_can_settle_for_less_than_nothing(scorer: Scorer) -> None:
    game = scorer(Rules(game_bonus=0), 0)
    enter(game, *[(1, 11)] * 9, (0, 100))
    assert game.winner == 0
    # 100 + 20 = 120; 99 + 9 x 20 = 279; 120 - 279 = -159.
    assert game.finals() == [120, 279]
    assert game.settlement() == [-159, 159]
    assert game.games_won == [1, 0]


def test_cardcouch(scorer: Scorer) -> None:
    game = scorer(preset("cardcouch"), 1)
    assert game.dealer == 1
    enter(game, (0, 40))
    assert game.dealer == 1
    enter(game, DEAD)
    assert game.dealer == 0
    enter(game, (0, 60))
    # 100 + 2 x 25 + 100 = 250, and nothing for the shutout.
    assert game.finals() == [250, 0]
    assert game.settlement() == [250, -250]


def test_manhattan_and_chicago(scorer: Scorer) -> None:
    game = scorer(preset("manhattan"), 0)
    enter(game, (0, 100), (1, 90), (1, 59))
    assert game.winner is None
    enter(game, (1, 1))
    # 90 + 59 + 1 = 150; 150 + 3 x 25 + 100 = 325; 100 + 25 = 125; 325 - 125 = 200.
    assert game.finals() == [125, 325]
    assert game.settlement() == [-200, 200]
    game = scorer(preset("chicago"), 0)
    enter(game, (0, 249), (1, 10))
    assert game.winner is None
    enter(game, (0, 31))
    # 249 + 31 = 280; 280 + 2 x 20 + 100 = 420; 10 + 20 = 30; 420 - 30 = 390.
    assert game.settlement() == [390, -390]


@pytest.mark.parametrize(
    ("next_dealer", "dead_hand_dealer", "dealers"),
    [
        ("loser", "same", [0, 1, 1, 1, 0, 0, 0, 1]),
        ("loser", "alternate", [0, 1, 1, 0, 0, 1, 0, 1]),
        ("alternate", "same", [0, 1, 0, 0, 1, 1, 1, 0]),
        ("alternate", "alternate", [0, 1, 0, 1, 0, 1, 0, 1]),
    ],
)
def test_who_deals(
    scorer: Scorer, next_dealer: str, dead_hand_dealer: str, dealers: list[int]
) -> None:
    hands = [(0, 9), (0, 9), DEAD, (1, 9), DEAD, DEAD, (0, 9)]
    rules = Rules(next_dealer=next_dealer, dead_hand_dealer=dead_hand_dealer)
    for first in (0, 1):
        # The other way round all of it is the same with the players changed.
        game = scorer(rules, first)
        seen = [game.dealer]
        for player, points in hands:
            assert game.seats == [(0, 1)]
            assert game.dealer_seats == [game.dealer]
            enter(game, DEAD if player is None else (player ^ first, points))
            seen.append(game.dealer)
        assert seen == [dealer ^ first for dealer in dealers]


# Matches of several games.


def test_best_of_three(scorer: Scorer) -> None:
    game = scorer(Rules(best_of=3), 0)
    enter(game, (0, 100))
    # 100 + 20 + 200 = 320.
    assert (game.winner, game.over, game.games_won) == (0, False, [1, 0])
    assert game.settled == [320, -320]
    game.next_game()
    # A clean sheet; who lost the game deals.
    assert (game.winner, game.closed_by, game.rounds, game.dealer) == (None, [None], 0, 1)
    assert game.totals == game.boxes == [[0, 0]]
    assert game.settlement() == [0, 0]
    enter(game, (1, 60), (0, 30), (1, 55))
    # 115 + 2 x 20 + 100 = 255; 30 + 20 = 50; 255 - 50 = 205; 320 - 205 = 115.
    assert game.settlement() == [-205, 205]
    assert game.settled == [115, -115]
    assert (game.over, game.games_won) == (False, [1, 1])
    game.next_game()
    assert game.dealer == 0
    enter(game, DEAD, (1, 100))
    # 115 - 320 = -205.
    assert (game.over, game.games_won) == (True, [1, 2])
    assert game.settlement() == [-320, 320]
    assert game.settled == [-205, 205]


@pytest.mark.parametrize("best_of", [1, 3, 5, 7, 9])
def test_a_match_ends_as_soon_as_it_is_decided(scorer: Scorer, best_of: int) -> None:
    game = scorer(Rules(best_of=best_of), 0)
    for number in range(1, (best_of + 1) // 2 + 1):
        enter(game, (1, 100))
        assert game.games_won == [0, number]
        assert game.over == (2 * number > best_of)
        if not game.over:
            game.next_game()
            # Player 0 has lost and deals, under "alternate" as well.
            assert game.dealer == 0


def test_the_loser_of_a_game_deals_though_the_deal_alternates(scorer: Scorer) -> None:
    game = scorer(Rules(best_of=3, next_dealer="alternate"), 0)
    enter(game, (0, 50), (0, 50))
    game.next_game()
    assert game.dealer == 1


# Hollywood.


def test_hollywood(scorer: Scorer) -> None:
    game = scorer(preset("hollywood", best_of=3), 0)
    assert enter(game, (0, 40)) == [40, 0]
    assert game.totals == [[40, 0], [0, 0], [0, 0]]
    assert enter(game, (0, 30)) == [60, 0]
    assert game.totals == [[70, 0], [30, 0], [0, 0]]
    # 70 + 35 = 105 closes the first column.
    assert enter(game, (0, 35)) == [105, 0]
    assert game.totals == [[105, 0], [65, 0], [35, 0]]
    assert game.boxes == [[3, 0], [2, 0], [1, 0]]
    assert (game.closed_by, game.winner) == ([0, None, None], None)
    # Player 1's first win is entered in the first column that is open.
    assert enter(game, (1, 50)) == [0, 50]
    assert game.totals == [[105, 0], [65, 50], [35, 0]]
    # 50 + 60 = 110 closes the second; 60 in the third.
    assert enter(game, (1, 60)) == [0, 120]
    assert game.totals == [[105, 0], [65, 110], [35, 60]]
    assert game.closed_by == [0, 1, None]
    assert enter(game, DEAD) == [0, 0]
    assert enter(game, (0, 20)) == [20, 0]
    assert game.totals == [[105, 0], [65, 110], [55, 60]]
    assert (game.winner, game.games_won) == (None, [0, 0])
    assert game.settled == game.settlement() == [0, 0]
    assert enter(game, (1, 41)) == [0, 41]
    assert game.totals == [[105, 0], [65, 110], [55, 101]]
    assert game.boxes == [[3, 0], [2, 2], [2, 2]]
    assert game.closed_by == [0, 1, 1]
    # Two columns of three are player 1's, and yet he pays:
    # 105 + 3 x 20 + 100 + 100 = 365 against 0: 365 to player 0;
    # 110 + 2 x 20 + 100 = 250 against 65 + 2 x 20 = 105: 145 to player 1;
    # 101 + 2 x 20 + 100 = 241 against 55 + 2 x 20 = 95: 146 to player 1.
    # 365 - 145 - 146 = 74.
    assert (game.winner, game.games_won) == (1, [0, 1])
    assert game.finals() == [365 + 105 + 95, 0 + 250 + 241]
    assert game.settlement() == game.settled == [74, -74]
    assert game.rounds == 8
    game.next_game()
    assert game.dealer == 0
    assert game.closed_by == [None] * 3
    assert game.totals == game.boxes == [[0, 0]] * 3


def test_hollywood_a_later_column_can_close_first(scorer: Scorer) -> None:
    game = scorer(preset("hollywood", target=60), 0)
    enter(game, (0, 10), (0, 10), (1, 20), (1, 20))
    assert game.totals == [[20, 40], [10, 20], [0, 0]]
    # The third win of player 1: 40 + 20 closes the first column, 20 + 20, 0 + 20.
    enter(game, (1, 20))
    assert game.totals == [[20, 60], [10, 40], [0, 20]]
    # Player 0's third: entered in the second, and fresh in the third.
    enter(game, (0, 50))
    assert game.totals == [[20, 60], [60, 40], [50, 20]]
    assert game.closed_by == [1, 0, None]
    # Only the third is left.
    assert enter(game, (1, 39)) == [0, 39]
    assert enter(game, (0, 70)) == [70, 0]
    assert game.totals == [[20, 60], [60, 40], [120, 59]]
    # 60 + 3 x 20 + 100 = 220 against 20 + 2 x 20 = 60: 160 to player 1;
    # 60 + 2 x 20 + 100 = 200 against 40 + 2 x 20 = 80: 120 to player 0;
    # 120 + 2 x 20 + 100 = 260 against 59 + 2 x 20 = 99: 161 to player 0.
    assert game.boxes == [[2, 3], [2, 2], [2, 2]]
    assert game.settlement() == [121, -121]
    assert game.winner == 0


def test_hollywood_one_hand_closes_several_columns(scorer: Scorer) -> None:
    game = scorer(preset("hollywood"), 0)
    enter(game, (0, 5), (0, 5))
    # 5 + 5 + 100, 5 + 100 and 100: all three at once.
    assert enter(game, (0, 100)) == [300, 0]
    assert game.closed_by == [0, 0, 0]
    # 110 + 60 + 200 = 370; 105 + 40 + 200 = 345; 100 + 20 + 200 = 320.
    assert game.settlement() == [1035, -1035]


def test_hollywood_a_win_of_no_points_counts_as_scored(scorer: Scorer) -> None:
    game = scorer(preset("hollywood", undercut_bonus=0), 0)
    assert enter(game, (1, 0)) == [0, 0]
    assert game.boxes == [[0, 1], [0, 0], [0, 0]]
    assert enter(game, (1, 30)) == [0, 60]
    assert game.totals == [[0, 30], [0, 30], [0, 0]]
    assert game.boxes == [[0, 2], [0, 1], [0, 0]]


# Three players.


def test_cutthroat(scorer: Scorer) -> None:
    game = scorer(preset("cutthroat", best_of=3), 2)
    # Who sits out, and who plays; the first of the two acts first.
    assert (game.dealer, game.seats, game.dealer_seats) == (2, [(0, 1)], [1])
    assert enter(game, (0, 40)) == [40, 0, 0]
    # Player 1 has lost and sits out; 2 is to his left.
    assert (game.dealer, game.seats, game.dealer_seats) == (1, [(2, 0)], [1])
    assert enter(game, (2, 30)) == [0, 0, 30]
    assert (game.dealer, game.seats, game.dealer_seats) == (0, [(1, 2)], [1])
    assert enter(game, (2, 45)) == [0, 0, 45]
    assert (game.dealer, game.seats) == (1, [(2, 0)])
    enter(game, DEAD)
    assert (game.dealer, game.seats) == (1, [(2, 0)])
    assert enter(game, (0, 25)) == [25, 0, 0]
    assert (game.dealer, game.seats) == (2, [(0, 1)])
    assert game.winner is None
    enter(game, (0, 35))
    # 40 + 25 + 35 = 100; 0; 30 + 45 = 75.
    assert game.totals == [[100, 0, 75]]
    assert game.boxes == [[3, 0, 2]]
    assert (game.winner, game.closed_by) == (0, [0])
    # With 1: 100 + 3 x 20 + 100 + 100 = 360. With 2: 100 + 60 + 100 - (75 + 40) = 145.
    assert game.settlement() == game.settled == [505, -360, -145]
    assert game.finals() == [360, 0, 115]
    assert game.games_won == [1, 0, 0]
    game.next_game()
    # Player 1 was last.
    assert (game.dealer, game.seats) == (1, [(2, 0)])
    enter(game, (2, 20), (1, 10), (1, 90))
    # 2 beats 0, who sits out; 1 beats 2, who sits out; 1 beats 0 and has 100.
    assert game.totals == [[0, 100, 20]]
    # With 0: 100 + 2 x 20 + 200 = 340. With 2: 100 + 40 + 100 - (20 + 20) = 200.
    assert game.settlement() == [-340, 540, -200]
    # 505 - 340 = 165; -360 + 540 = 180; -145 - 200 = -345.
    assert game.settled == [165, 180, -345]
    assert (game.games_won, game.over) == ([1, 1, 0], False)
    game.next_game()
    assert game.dealer == 0


@pytest.mark.parametrize(
    ("next_dealer", "dead_hand_dealer", "dealers"),
    [
        ("loser", "same", [0, 1, 1, 0]),
        ("loser", "alternate", [0, 1, 2, 0]),
        ("alternate", "same", [0, 1, 1, 2]),
        ("alternate", "alternate", [0, 1, 2, 0]),
    ],
)
def test_who_sits_out(
    scorer: Scorer, next_dealer: str, dead_hand_dealer: str, dealers: list[int]
) -> None:
    rules = preset("cutthroat", next_dealer=next_dealer, dead_hand_dealer=dead_hand_dealer)
    game = scorer(rules, 0)
    seen = [game.dealer]
    # Player 2 beats 1; a dead hand; player 0 plays again and loses.
    enter(game, (2, 9))
    seen.append(game.dealer)
    enter(game, DEAD)
    seen.append(game.dealer)
    (table,) = game.seats
    enter(game, (sum(table), 9))  # 0 and whom he plays
    seen.append(game.dealer)
    assert seen == dealers


def test_every_cutthroat_table() -> None:
    rules = preset("cutthroat")
    game = match.start(rules, np.arange(3))
    assert match.seats(game).tolist() == [[[1, 2]], [[2, 0]], [[0, 1]]]
    assert match.dealer_seats(game).tolist() == [[1], [1], [1]]


def test_a_tie_for_last_of_three_is_cut() -> None:
    lanes = 3_000
    game = match.start(preset("cutthroat", best_of=3), np.zeros(lanes, dtype=np.intp))
    everyone = np.arange(lanes)
    # The dealer 0 sits out, seat 1 is player 2: he wins all, and 0 and 1 have nothing.
    match.enter(game, everyone, np.ones((lanes, 1), int), np.full((lanes, 1), 100))
    assert (game.winner == 2).all()
    match.next_game(game, everyone, np.random.default_rng(5))
    assert set(game.dealer.tolist()) == {0, 1}
    # Standard deviation of the mean: 0.009.
    assert abs(game.dealer.mean() - 0.5) < 0.04


# Four players.


def test_partnership(scorer: Scorer) -> None:
    game = scorer(preset("partnership", best_of=3), 3)
    even, odd = [(0, 1), (2, 3)], [(0, 3), (2, 1)]
    # Side 1 (player 3's) deals at both tables.
    assert (game.seats, game.dealer, game.dealer_seats) == (even, 1, [1, 1])
    # 30 + 17 and 25 for both: 72.
    assert game.enter([(0, 30), (0, 17)]) == [72, 0]
    assert (game.seats, game.dealer, game.dealer_seats) == (odd, 1, [1, 1])
    # 45 - 20 = 25.
    assert game.enter([(0, 20), (1, 45)]) == [0, 25]
    assert (game.seats, game.dealer, game.dealer_seats) == (even, 0, [0, 0])
    # Equal: nothing, no box, and the same side deals.
    assert game.enter([(1, 30), (0, 30)]) == [0, 0]
    assert (game.seats, game.dealer) == (odd, 0)
    # One dead: the other counts.
    assert game.enter([DEAD, (1, 33)]) == [0, 33]
    assert (game.seats, game.dealer) == (even, 0)
    assert game.enter([DEAD, DEAD]) == [0, 0]
    assert (game.seats, game.dealer, game.rounds) == (odd, 0, 5)
    assert game.enter([(0, 40), DEAD]) == [40, 0]
    assert (game.seats, game.dealer) == (even, 1)
    # 10 - 9 = 1.
    assert game.enter([(1, 10), (0, 9)]) == [0, 1]
    assert game.totals == [[112, 59]]
    assert game.winner is None
    # 8 + 5 + 25 = 38; 112 + 38 = 150.
    assert game.enter([(0, 8), (0, 5)]) == [38, 0]
    assert game.totals == [[150, 59]]
    assert game.boxes == [[3, 3]]
    # 150 + 3 x 20 + 100 = 310; 59 + 60 = 119; 310 - 119 = 191.
    assert game.winner == 0
    assert game.finals() == [310, 119]
    assert game.settlement() == game.settled == [191, -191]
    game.next_game()
    # The losers deal, at the first tables.
    assert (game.seats, game.dealer, game.rounds) == (even, 1, 0)


def test_partners_bonus_alone_can_end_a_game(scorer: Scorer) -> None:
    game = scorer(preset("partnership", target=50, partners_bonus=30), 0)
    game.enter([(1, 12), (1, 8)])
    # 12 + 8 + 30 = 50; 50 + 20 + 100 + 100 = 270.
    assert game.settlement() == [-270, 270]


@pytest.mark.parametrize("bonus", [0, 25])
@pytest.mark.parametrize("side", [0, 1])
def test_rounds_of_hands_worth_nothing(scorer: Scorer, side: int, bonus: int) -> None:
    rules = preset("partnership", partners_bonus=bonus, undercut_bonus=0)
    # Both hands won: the round is won.
    game = scorer(rules, side)
    assert game.enter([(side, 0), (side, 0)])[side] == bonus
    assert game.boxes[0][side] == 1
    assert game.dealer == 1 - side
    # One hand won, with no points, and the other dead or lost with none: a tie.
    for other in (DEAD, (1 - side, 0)):
        game = scorer(rules, side)
        for results in ([(side, 0), other], [other, (side, 0)]):
            assert game.enter(results) == [0, 0]
            assert game.boxes == [[0, 0]]
            assert game.dealer == side


@pytest.mark.parametrize("table", [0, 1])
def test_both_partners_have_to_win(scorer: Scorer, table: int) -> None:
    # One wins with many points, the other loses with few: no bonus.
    game = scorer(preset("partnership"), 0)
    results: list[HandResult] = [(1, 3), (1, 3)]
    results[table] = (0, 60)
    assert game.enter(results) == [57, 0]
    # Won with points, and won with none: the bonus.
    results[table] = (1, 0)
    assert game.enter(results) == [0, 28]


@pytest.mark.parametrize(
    ("next_dealer", "dead_hand_dealer", "dealers"),
    [
        ("loser", "same", [0, 1, 1, 1, 0]),
        ("loser", "alternate", [0, 1, 1, 0, 0]),
        ("alternate", "same", [0, 1, 0, 0, 1]),
        ("alternate", "alternate", [0, 1, 0, 1, 0]),
    ],
)
def test_which_side_deals(
    scorer: Scorer, next_dealer: str, dead_hand_dealer: str, dealers: list[int]
) -> None:
    rules = preset("partnership", next_dealer=next_dealer, dead_hand_dealer=dead_hand_dealer)
    rounds: list[list[HandResult]] = [
        [(0, 9), (1, 5)],
        [(0, 9), DEAD],
        [(1, 7), (0, 7)],
        [(1, 9), DEAD],
    ]
    game = scorer(rules, 2)  # of side 0
    seen = [game.dealer]
    for results in rounds:
        game.enter(results)
        seen.append(game.dealer)
    assert seen == dealers


# The cut and the start.


@pytest.mark.parametrize("name", ["classic", "cutthroat", "partnership"])
def test_the_first_dealer_is_cut_or_named(name: str) -> None:
    players = preset(name).num_players
    lanes = 4_000
    dealers = match.cut(preset(name), np.random.default_rng(3), lanes)
    assert dealers.shape == (lanes,)
    counts = np.bincount(dealers, minlength=players)
    assert len(counts) == players
    # Standard deviation of a share: 0.008 at most.
    assert abs(counts / lanes - 1 / players).max() < 0.035
    again = match.cut(preset(name), np.random.default_rng(3), lanes)
    assert (dealers == again).all()
    for player in range(players):
        rules = preset(name, first_dealer=player)
        assert match.cut(rules, np.random.default_rng(3), 5).tolist() == [player] * 5
    with pytest.raises(RulesError, match="first_dealer"):
        preset(name, first_dealer=players)


@pytest.mark.parametrize("name", PRESETS)
def test_shapes_and_types_at_the_start(name: str) -> None:
    rules = preset(name)
    sides = 3 if name == "cutthroat" else 2
    columns = 3 if name == "hollywood" else 1
    tables = 2 if name == "partnership" else 1
    game = match.start(rules, np.arange(rules.num_players))
    lanes = rules.num_players
    assert len(game) == lanes
    shapes = {
        "totals": ((lanes, columns, sides), np.int32),
        "boxes": ((lanes, columns, sides), np.int32),
        "closed_by": ((lanes, columns), np.int8),
        "dealer": ((lanes,), np.intp),
        "rounds": ((lanes,), np.int32),
        "winner": ((lanes,), np.int8),
        "games_won": ((lanes, sides), np.int16),
        "settled": ((lanes, sides), np.int32),
    }
    assert set(shapes) == set(ARRAYS)

    def check() -> None:
        for field, (shape, kind) in shapes.items():
            array = getattr(game, field)
            assert (array.shape, array.dtype) == (shape, np.dtype(kind)), field

    check()
    assert game.dealer.tolist() == [player % sides for player in range(lanes)]
    assert match.seats(game).shape == (lanes, tables, 2)
    assert match.dealer_seats(game).shape == (lanes, tables)
    assert game.over.tolist() == [False] * lanes
    assert not match.finals(game).any()
    # Nothing entered in no lane.
    nothing = np.zeros((0, tables), dtype=int)
    assert match.enter(game, np.arange(0), nothing, nothing).shape == (0, sides)
    match.enter(game, np.arange(lanes), np.zeros((lanes, tables), int), np.full((lanes, tables), 9))
    check()
    assert match.settlement(game).shape == match.finals(game).shape == (lanes, sides)


# Many matches at once.


def random_rules(rng: random.Random) -> Rules:
    """Rules whose games and matches are any mixture of what there is."""
    seating = rng.choice(["heads_up", "heads_up", "heads_up", "cutthroat", "partnership"])
    best_of = rng.choice([1, 1, 1, 3, 3, 5, 9])
    fields: dict[str, Any] = {
        "seating": seating,
        "target": rng.choice([1, 20, 50, 100, 125, 250] if best_of < 5 else [1, 30]),
        "game_bonus": rng.choice([0, 50, 100, 1_000]),
        "shutout_bonus": rng.choice([0, 100, 777]),
        "box_bonus": rng.choice([0, 1, 20, 25, 300]),
        "next_dealer": rng.choice(["loser", "alternate"]),
        "dead_hand_dealer": rng.choice(["same", "alternate"]),
        "best_of": best_of,
    }
    if seating == "heads_up":
        fields["score_sheet"] = rng.choice(["single", "hollywood"])
    if seating == "partnership":
        fields["partners_bonus"] = rng.choice([0, 10, 25, 100])
    return Rules(**fields)


def random_hand(rng: random.Random) -> HandResult:
    """A dead hand, or a win of none, few or many points."""
    if rng.random() < 0.15:
        return None, 0
    points = rng.choice([0, rng.randint(1, 4), rng.randint(1, 40), rng.randint(20, 120)])
    return rng.randrange(2), points


def same(one: match.Match, other: match.Match) -> bool:
    return all(np.array_equal(getattr(one, name), getattr(other, name)) for name in ARRAYS)


def check_lanes(game: match.Match, lanes: Sequence[int], slow: Sequence[ReferenceMatch]) -> None:
    """All that is on the sheets of these lanes, and what follows from it."""
    arrays = {name: getattr(game, name) for name in ARRAYS if name != "dealer"}
    arrays |= {"over": game.over, "settlement": match.settlement(game)}
    in_play = {
        "dealer": game.dealer,
        "seats": match.seats(game),
        "dealer_seats": match.dealer_seats(game),
    }
    ended = {"finals": match.finals(game)}
    for lane in lanes:
        one = slow[lane]
        for name, array in (arrays | (in_play if one.winner is None else ended)).items():
            expected = getattr(one, name)
            expected = expected() if callable(expected) else expected
            if name in ("winner", "closed_by"):
                expected = np.array(expected, dtype=float)
                expected[np.isnan(expected)] = -1
            assert np.array_equal(array[lane], expected), (name, lane, one.rules, one.game.rounds)


def play_out(rules: Rules, lanes: int, rng: random.Random, seen: Counter[str]) -> None:
    """Plays a match in each lane, entering some lanes at a time, and compares all the way."""
    dealers = [rng.randrange(rules.num_players) for _ in range(lanes)]
    game = match.start(rules, np.array(dealers))
    slow = [ReferenceMatch(rules, dealer) for dealer in dealers]
    generator = np.random.default_rng(rng.randrange(2**32))
    left = list(range(lanes))
    while left:
        some = [lane for lane in left if rng.random() < 0.7]
        rng.shuffle(some)
        ended = [lane for lane in some if slow[lane].winner is not None]
        played = [lane for lane in some if slow[lane].winner is None]
        before = game.copy()
        match.next_game(game, np.array(ended, dtype=np.intp), generator)
        for lane in ended:
            dealer = int(game.dealer[lane])
            assert dealer in slow[lane].may_deal_next_game()
            seen["cut for last"] += len(slow[lane].may_deal_next_game()) > 1
            slow[lane].next_game(dealer)
        results = [[random_hand(rng) for _ in slow[lane].seats] for lane in played]
        shape = (len(played), rules.num_tables)
        winners = [[-1 if seat is None else seat for seat, _ in tables] for tables in results]
        points = [[points for _, points in tables] for tables in results]
        entered = match.enter(
            game,
            np.array(played, dtype=np.intp),
            np.array(winners, dtype=np.intp).reshape(shape),
            np.array(points, dtype=np.intp).reshape(shape),
        )
        expected = [slow[lane].enter(result) for lane, result in zip(played, results, strict=True)]
        assert entered.tolist() == expected, (rules, results)
        check_lanes(game, some, slow)
        seen["games"] += sum(slow[lane].winner is not None for lane in some)
        others = np.array([lane for lane in range(lanes) if lane not in some], dtype=np.intp)
        assert same(game.take(others), before.take(others))
        left = [lane for lane in left if not game.over[lane]]
    seen["matches"] += lanes
    for one in slow:
        seen["matches won at a loss"] += one.settled[one.games_won.index(max(one.games_won))] < 0


@pytest.mark.parametrize("name", PRESETS)
def test_presets_against_the_reference(name: str) -> None:
    rng = random.Random(name)
    seen: Counter[str] = Counter()
    play_out(preset(name), 2 * LANES, rng, seen)
    play_out(preset(name, best_of=3), LANES, rng, seen)
    assert seen["matches"] == 3 * LANES


def test_mixtures_against_the_reference() -> None:
    rng = random.Random(11)
    seen: Counter[str] = Counter()
    for _ in range(MIXTURES):
        play_out(random_rules(rng), LANES, rng, seen)
    assert seen["matches"] == MIXTURES * LANES
    assert seen["games"] > seen["matches"]
    assert seen["cut for last"]
    assert seen["matches won at a loss"]


# What holds for every sheet.

SEATINGS = ("classic", "hollywood", "cutthroat", "partnership")
HANDS = st.lists(
    st.tuples(st.sampled_from([-1, 0, 1]), st.sampled_from([-1, 0, 1]), st.integers(0, 90)),
    min_size=1,
    max_size=40,
)


def enter_all(game: match.Match, hands: Sequence[tuple[int, int, int]]) -> np.ndarray:
    """Enter hands in every lane alike until a game ends; what was entered in all, [B, S]."""
    tables = game.rules.num_tables
    lanes = np.arange(len(game))
    total = np.zeros(game.settled.shape, dtype=int)
    for one, other, points in hands:
        if (game.winner >= 0).any():
            break
        winners = np.tile([one, other][:tables], (len(lanes), 1))
        worth = np.where(winners < 0, 0, [points, 90 - points][:tables])
        total += match.enter(game, lanes, winners, worth)
    return total


@settings(max_examples=60, deadline=None)
@given(name=st.sampled_from(SEATINGS), dealer=st.integers(0, 1), hands=HANDS)
def test_a_settlement_comes_to_nothing_over_all(
    name: str, dealer: int, hands: list[tuple[int, int, int]]
) -> None:
    game = match.start(preset(name, target=60), np.array([dealer]))
    enter_all(game, hands)
    settlement = match.settlement(game)
    assert settlement.sum() == 0
    assert (settlement == game.settled).all()
    if game.winner[0] < 0:
        assert not settlement.any()
    elif name != "cutthroat":
        final = match.finals(game)[0]
        assert settlement[0, 0] == final[0] - final[1]


@settings(max_examples=60, deadline=None)
@given(name=st.sampled_from(["classic", "hollywood", "partnership"]), hands=HANDS)
def test_sides_changed_the_sheet_is_its_mirror_image(
    name: str, hands: list[tuple[int, int, int]]
) -> None:
    rules = preset(name, target=60)
    game, mirrored = match.start(rules, np.array([0])), match.start(rules, np.array([1]))
    enter_all(game, hands)
    change = {-1: -1, 0: 1, 1: 0}
    enter_all(mirrored, [(change[one], change[other], points) for one, other, points in hands])
    for name in ("totals", "boxes", "games_won", "settled"):
        assert (getattr(game, name) == getattr(mirrored, name)[..., ::-1]).all(), name
    assert (match.settlement(game) == -match.settlement(mirrored)).all()
    assert (match.finals(game) == match.finals(mirrored)[:, ::-1]).all()
    assert game.dealer[0] + mirrored.dealer[0] == 1
    assert [change[side] for side in game.closed_by[0].tolist()] == mirrored.closed_by[0].tolist()


@settings(max_examples=60, deadline=None)
@given(hands=HANDS)
def test_a_closed_column_never_changes(hands: list[tuple[int, int, int]]) -> None:
    game = match.start(preset("hollywood", target=60), np.array([0]))
    for hand in hands:
        before = game.copy()
        enter_all(game, [hand])
        closed = before.closed_by[0] >= 0
        for name in ("totals", "boxes", "closed_by"):
            old, new = getattr(before, name)[0], getattr(game, name)[0]
            assert (old[closed] == new[closed]).all()
        assert ((game.totals >= 60).any(axis=2) == (game.closed_by >= 0)).all()


@settings(max_examples=60, deadline=None)
@given(name=st.sampled_from(SEATINGS), hands=HANDS)
def test_what_is_entered_is_on_the_sheet(name: str, hands: list[tuple[int, int, int]]) -> None:
    game = match.start(preset(name, target=60), np.array([0]))
    entered = enter_all(game, hands)
    assert (entered == game.totals.sum(axis=1)).all()
    if name == "classic":
        played = hands[: int(game.rounds[0])]
        for side in (0, 1):
            won = [points for winner, _, points in played if winner == side]
            assert (game.totals[0, 0, side], game.boxes[0, 0, side]) == (sum(won), len(won))


@pytest.mark.parametrize("name", SEATINGS)
def test_copies_share_nothing(name: str) -> None:
    rng = np.random.default_rng(2)
    rules = preset(name)
    lanes = np.arange(4)
    game = match.start(rules, lanes % rules.num_players)

    def play(some: match.Match) -> None:
        shape = (len(some), rules.num_tables)
        winners, points = rng.integers(-1, 2, shape), rng.integers(1, 9, shape)
        match.enter(some, np.arange(len(some)), winners, points)

    play(game)
    kept = game.copy()
    taken = game.take(np.array([2, 0]))
    assert kept.rules == taken.rules == rules
    assert len(taken) == 2
    for name in ARRAYS:
        for other in (kept, taken):
            assert not np.shares_memory(getattr(game, name), getattr(other, name)), name
        assert (getattr(taken, name) == getattr(game, name)[[2, 0]]).all()
    play(taken)
    assert same(game, kept)
    game.put(np.array([1, 3]), taken)
    assert same(game.take(np.array([1, 3])), taken)
    assert same(game.take(np.array([0, 2])), kept.take(np.array([0, 2])))
    put = game.copy()
    play(taken)
    assert same(game, put)


def test_what_is_told_of_the_seats_can_be_kept() -> None:
    for name in SEATINGS:
        game = match.start(preset(name), np.array([0, 1]))
        seats, dealing = match.seats(game), match.dealer_seats(game)
        told = seats.tolist(), dealing.tolist()
        tables = game.rules.num_tables
        match.enter(game, np.arange(2), np.zeros((2, tables), int), np.full((2, tables), 5))
        assert (seats.tolist(), dealing.tolist()) == told
