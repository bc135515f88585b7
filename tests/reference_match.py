"""Games and matches a second time: slow, in plain Python, from RULES.md alone.

One match at a time. A match is the list of its games; a game is who dealt first and what each of
its hands came to. All else (totals, boxes, who deals, who sits where, settlements) is worked out
from those lists, from the start, each time it is asked for. Nothing here shares code or ideas
with ``ginenv``.

Where RULES.md is silent: a win of no points is a box, counts as having scored in its column and is
a hand won for ``partners_bonus``; a shutout goes by points alone; who is last among three is who
has the lowest total.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

HandResult = tuple[int | None, int]
"""The seat that won a hand, or None, and its points."""
Table = tuple[int, int]
"""The players at seats 0 and 1."""
Column = list[tuple[int, int]]
"""The wins entered in one column: side and points."""


class ReferenceGame:
    """One game: its first dealer (partnership: dealing side) and its rounds so far.

    A round is one hand, or in partnership one hand at each of the two tables.
    """

    def __init__(self, rules: Any, dealer: int) -> None:
        self.rules = rules
        self.first_dealer = dealer
        self.rounds: list[list[HandResult]] = []

    @property
    def num_sides(self) -> int:
        """Two players, three players, or two sides of two."""
        return 3 if self.rules.seating == "cutthroat" else 2

    def tables_at(self, number: int, dealer: int) -> list[Table]:
        """Who sits where in the round of this number, with this dealer."""
        if self.rules.seating == "heads_up":
            return [(0, 1)]
        if self.rules.seating == "cutthroat":
            # The dealer sits out; the one to his left is first to act, so the other one deals.
            left = (dealer + 1) % 3
            return [(left, 3 - dealer - left)]
        return [(0, 3), (2, 1)] if number % 2 else [(0, 1), (2, 3)]

    def outcome(self, tables: Sequence[Table], results: Sequence[HandResult]) -> tuple[Any, int]:
        """The side that won a round, or None, and the points that it enters."""
        if self.rules.seating != "partnership":
            seat, points = results[0]
            return (None, 0) if seat is None else (tables[0][seat], points)
        scored = {0: 0, 1: 0}
        won: list[int] = []
        for table, (seat, points) in zip(tables, results, strict=True):
            if seat is not None:
                side = table[seat] % 2
                scored[side] += points
                won.append(side)
        both = len(won) == 2 and won[0] == won[1]
        if both:
            return won[0], scored[won[0]] + self.rules.partners_bonus
        if scored[0] == scored[1]:
            return None, 0
        better = 0 if scored[0] > scored[1] else 1
        return better, scored[better] - scored[1 - better]

    def dealer_after(self, dealer: int, tables: Sequence[Table], winner: int | None) -> int:
        """Who deals after a round that this dealer dealt and this side won."""
        to_the_left = (dealer + 1) % self.num_sides
        if winner is None:
            return dealer if self.rules.dead_hand_dealer == "same" else to_the_left
        if self.rules.next_dealer == "alternate":
            return to_the_left
        one, other = (player % self.num_sides for player in tables[0])
        return other if winner == one else one

    def story(self) -> tuple[list[tuple[Any, int]], int]:
        """Each round's winner and points, in order, and who deals the round after them."""
        outcomes = []
        dealer = self.first_dealer
        for number, results in enumerate(self.rounds):
            tables = self.tables_at(number, dealer)
            winner, points = self.outcome(tables, results)
            outcomes.append((winner, points))
            dealer = self.dealer_after(dealer, tables, winner)
        return outcomes, dealer

    @property
    def dealer(self) -> int:
        """Who deals the next hand (cutthroat: and sits out; partnership: the side)."""
        return self.story()[1]

    @property
    def tables(self) -> list[Table]:
        """Who sits where in the next round."""
        return self.tables_at(len(self.rounds), self.dealer)

    def columns(self) -> list[Column]:
        """The wins entered in each column, in order."""
        hollywood = self.rules.score_sheet == "hollywood"
        columns: list[Column] = [[], [], []] if hollywood else [[]]
        closed = [False for _ in columns]
        for winner, points in self.story()[0]:
            if winner is None:
                continue
            first_time = True
            for number, column in enumerate(columns):
                if closed[number]:
                    continue
                has_scored = any(side == winner for side, _ in column)
                if has_scored or first_time:
                    column.append((winner, points))
                    closed[number] = self.total(column, winner) >= self.rules.target
                if not has_scored:
                    first_time = False
        return columns

    def total(self, column: Column, side: int) -> int:
        """The points of a side in a column."""
        return sum(points for winner, points in column if winner == side)

    def count(self, column: Column, side: int) -> int:
        """The boxes of a side in a column."""
        return len([winner for winner, _ in column if winner == side])

    def closer(self, column: Column) -> int | None:
        """The side that has reached the target in a column."""
        for side in range(self.num_sides):
            if self.total(column, side) >= self.rules.target:
                return side
        return None

    def worth(self, column: Column, side: int) -> int:
        """What a side has in a column, with its boxes, before anything for winning."""
        return self.total(column, side) + self.count(column, side) * self.rules.box_bonus

    @property
    def winner(self) -> int | None:
        """Who closed most columns, once all are closed."""
        closers = [self.closer(column) for column in self.columns()]
        if None in closers:
            return None
        return max(range(self.num_sides), key=closers.count)

    def settlement(self) -> list[int]:
        """What each side wins or loses by the game; nothing before it is over."""
        sums = [0] * self.num_sides
        if self.winner is None:
            return sums
        for column in self.columns():
            closer = self.closer(column)
            for loser in range(self.num_sides):
                if loser == closer:
                    continue
                paid = self.worth(column, closer) - self.worth(column, loser)
                paid += self.rules.game_bonus
                if self.total(column, loser) == 0:
                    paid += self.rules.shutout_bonus
                sums[closer] += paid
                sums[loser] -= paid
        return sums

    def finals(self) -> list[int]:
        """Each side's totals and boxes, and what it gets for the columns that it closed."""
        sums = [0] * self.num_sides
        for column in self.columns():
            for side in range(self.num_sides):
                sums[side] += self.worth(column, side)
            closer = self.closer(column)
            if closer is not None:
                sums[closer] += self.rules.game_bonus
                for loser in range(self.num_sides):
                    if loser != closer and self.total(column, loser) == 0:
                        sums[closer] += self.rules.shutout_bonus
        return sums


class ReferenceMatch:
    """A match that player ``dealer`` deals first.

    ``rules`` is any object with RULES.md's fields.
    """

    def __init__(self, rules: Any, dealer: int) -> None:
        self.rules = rules
        first = dealer % 2 if rules.seating == "partnership" else dealer
        self.games = [ReferenceGame(rules, first)]

    @property
    def game(self) -> ReferenceGame:
        """The game that is played, or that was played last."""
        return self.games[-1]

    @property
    def dealer(self) -> int:
        """Who deals the next hand (cutthroat: and sits out; partnership: the side)."""
        return self.game.dealer

    @property
    def seats(self) -> list[Table]:
        """The players at seats 0 and 1 of each table in the next round."""
        return self.game.tables

    @property
    def dealer_seats(self) -> list[int]:
        """Which of the two deals at each table; in cutthroat, who acts second."""
        if self.rules.seating == "cutthroat":
            return [1]
        return [self.dealer] * len(self.seats)

    @property
    def rounds(self) -> int:
        """Hands (partnership: rounds) played in this game, those without a winner too."""
        return len(self.game.rounds)

    @property
    def totals(self) -> list[list[int]]:
        """Points per column and side."""
        game = self.game
        return [[game.total(c, side) for side in range(game.num_sides)] for c in game.columns()]

    @property
    def boxes(self) -> list[list[int]]:
        """Boxes per column and side."""
        game = self.game
        return [[game.count(c, side) for side in range(game.num_sides)] for c in game.columns()]

    @property
    def closed_by(self) -> list[int | None]:
        """The side that reached the target in each column."""
        return [self.game.closer(column) for column in self.game.columns()]

    @property
    def winner(self) -> int | None:
        """The side that has won this game."""
        return self.game.winner

    @property
    def games_won(self) -> list[int]:
        """Games won by each side."""
        winners = [game.winner for game in self.games]
        return [winners.count(side) for side in range(self.game.num_sides)]

    @property
    def settled(self) -> list[int]:
        """The settlements of the games that are over, added up."""
        each = [game.settlement() for game in self.games]
        return [sum(column) for column in zip(*each, strict=True)]

    @property
    def over(self) -> bool:
        """Whether a side has won more than half of ``best_of`` games."""
        return any(2 * won > self.rules.best_of for won in self.games_won)

    def enter(self, results: Sequence[HandResult]) -> list[int]:
        """Enter what each table's hand came to; the points that each side wrote down for it."""
        if self.winner is not None:
            raise ValueError("the game is over")
        if len(results) != len(self.seats):
            raise ValueError(f"{len(self.seats)} tables, {len(results)} results")
        before = self.totals
        self.game.rounds.append(list(results))
        after = self.totals
        sides = range(self.game.num_sides)
        return [
            sum(new[side] - old[side] for new, old in zip(after, before, strict=True))
            for side in sides
        ]

    def settlement(self) -> list[int]:
        """The settlement of this game; nothing before it is over."""
        return self.game.settlement()

    def finals(self) -> list[int]:
        """Each side's points of this game with all that is added to them."""
        return self.game.finals()

    def may_deal_next_game(self) -> set[int]:
        """Who is last in the game that is over; several where a cut decides."""
        if self.winner is None:
            raise ValueError("the game is not over")
        losers = set(range(self.game.num_sides)) - {self.winner}
        if self.rules.seating != "cutthroat":
            return losers
        lowest = min(self.totals[0])
        return {side for side in losers if self.totals[0][side] == lowest}

    def next_game(self, dealer: int | None = None) -> None:
        """Begin the next game of the match; ``dealer`` is who the cut chose, where one is."""
        may = self.may_deal_next_game()
        if self.over:
            raise ValueError("the match is over")
        if dealer is None:
            (dealer,) = may
        if dealer not in may:
            raise ValueError(f"{dealer} does not deal the next game: {sorted(may)}")
        self.games.append(ReferenceGame(self.rules, dealer))
