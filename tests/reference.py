"""The rules of one hand a second time: slow, in plain Python, from RULES.md alone.

The tests hold the fast engine against this. Nothing here shares code or ideas with ``ginenv``:
hands are sets of ints, every arrangement of melds is written out, every way to lay off is tried.
A card is an id 0..51, ``suit * 13 + rank``; small decks use the same ids.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import combinations
from typing import Any

RANKS = "A23456789TJQK"
SUITS = "cdhs"
SPADES = 3

Meld = tuple[int, ...]
"""A meld's card ids, ascending."""
Arrangement = tuple[Meld, ...]
"""Disjoint melds in ascending order: RULES.md's "sorted list of its melds' sorted card ids"."""


def name(card: int) -> str:
    """``name(22) == "Td"``."""
    return RANKS[card % 13] + SUITS[card // 13]


def card_id(text: str) -> int:
    """``card_id("Td") == 22``."""
    rank, suit = text
    return SUITS.index(suit) * 13 + RANKS.index(rank)


def ids(text: str) -> list[int]:
    """The card ids of ``"As Td"``, in the order written."""
    return [card_id(word) for word in text.split()]


def names(cards: Iterable[int]) -> str:
    """Cards as text, ascending by id: ``"Td As"``."""
    return " ".join(name(card) for card in sorted(cards))


def points(cards: Iterable[int]) -> int:
    """Ace 1, number cards their number, T J Q K 10."""
    return sum(min(card % 13 + 1, 10) for card in cards)


def is_meld(cards: Iterable[int]) -> bool:
    """A set (3 or 4 of a rank) or a run (3 or more in a row of one suit, the ace low)."""
    cards = sorted(cards)
    if len(cards) < 3:
        return False
    if len({card % 13 for card in cards}) == 1:
        return True
    one_suit = cards[0] // 13 == cards[-1] // 13
    return one_suit and cards == list(range(cards[0], cards[0] + len(cards)))


def melds_in(hand: Iterable[int]) -> list[Meld]:
    """Every set and every run, of any length, that can be made from the hand; ascending."""
    hand = set(hand)
    melds: list[Meld] = []
    for rank in range(13):
        same = [card for card in sorted(hand) if card % 13 == rank]
        melds.extend(combinations(same, 3))
        melds.extend(combinations(same, 4))
    for low in hand:
        high = low + 1
        while high in hand and high // 13 == low // 13:
            high += 1
            if high - low >= 3:
                melds.append(tuple(range(low, high)))
    return sorted(melds)


@lru_cache(maxsize=10_000)
def _arrangements(hand: frozenset[int]) -> tuple[Arrangement, ...]:
    melds = melds_in(hand)
    found: list[Arrangement] = []

    def extend(first: int, chosen: Arrangement, used: frozenset[int]) -> None:
        found.append(chosen)
        for index in range(first, len(melds)):
            if used.isdisjoint(melds[index]):
                extend(index + 1, (*chosen, melds[index]), used.union(melds[index]))

    extend(0, (), frozenset())
    return tuple(found)


def arrangements(hand: Iterable[int]) -> tuple[Arrangement, ...]:
    """Every way to lay some of the hand out in disjoint melds, the way without any included."""
    return _arrangements(frozenset(hand))


@lru_cache(maxsize=10_000)
def _left_by_arrangement(hand: frozenset[int]) -> tuple[tuple[int, frozenset[int]], ...]:
    """For each arrangement: the points of the cards outside its melds, and its cards."""
    rows = []
    for arrangement in _arrangements(hand):
        used = frozenset(card for meld in arrangement for card in meld)
        rows.append((points(hand - used), used))
    return tuple(rows)


def least_deadwood(hand: Iterable[int]) -> int:
    """The deadwood of the hand in the arrangement that leaves the least."""
    return min(left for left, _ in _left_by_arrangement(frozenset(hand)))


def best_arrangements(hand: Iterable[int]) -> list[Arrangement]:
    """All arrangements of least deadwood, in RULES.md's order."""
    hand = frozenset(hand)
    rows = zip(_arrangements(hand), _left_by_arrangement(hand), strict=True)
    least = least_deadwood(hand)
    return sorted(arrangement for arrangement, (left, _) in rows if left == least)


def deadwood_after(hand: Iterable[int], card: int) -> int:
    """Least deadwood of what is left of the hand once ``card`` is thrown.

    The arrangements of the cards left are those of the whole hand that do without the card.
    """
    hand = frozenset(hand)
    if card not in hand:
        raise ValueError(f"{name(card)} is not in {names(hand)}")
    rows = _left_by_arrangement(hand)
    return min(left for left, used in rows if card not in used) - points([card])


def could_be_laid_off(melds: Iterable[Meld], cards: Iterable[int]) -> set[int]:
    """Those of ``cards`` that fit onto the melds, chains along runs included, each card once."""
    cards = set(cards)
    found: set[int] = set()
    for meld in melds:
        if meld[0] % 13 == meld[1] % 13:
            found.update(card for card in cards if card % 13 == meld[0] % 13)
            continue
        for end, step in ((meld[0], -1), (meld[-1], 1)):
            card = end + step
            while card in cards and card // 13 == end // 13:
                found.add(card)
                card += step
    return found


def knocker_arrangement(hand: Iterable[int], maybe: Iterable[int]) -> Arrangement:
    """The knocker's melds: least deadwood; then fewest points of ``maybe`` (the cards that may
    be in the defender's hand) that could be laid off onto them; then the least in order."""
    maybe = frozenset(maybe)
    return min(
        best_arrangements(hand),
        key=lambda melds: (points(could_be_laid_off(melds, maybe)), melds),
    )


def ways_to_lay_off(loose: Iterable[int], melds: Iterable[Meld]) -> set[frozenset[int]]:
    """Every set of the loose cards that can be put onto the melds, one card at a time, so that
    each meld remains one after each card. Nothing at all is one of the ways."""
    # What no chain reaches can never be put on; leaving it out only saves time.
    useful = could_be_laid_off(melds, loose)
    start = tuple(frozenset(meld) for meld in melds)
    ways = {frozenset()}
    seen = {start}
    todo = [(start, frozenset())]
    while todo:
        table, laid = todo.pop()
        for card in useful - laid:
            for index, meld in enumerate(table):
                grown = (*table[:index], meld | {card}, *table[index + 1 :])
                if is_meld(meld | {card}) and grown not in seen:
                    seen.add(grown)
                    ways.add(laid | {card})
                    todo.append((grown, laid | {card}))
    return ways


def lay_off(
    defender: Iterable[int], knocker_melds: Iterable[Meld]
) -> tuple[Arrangement, list[int], list[int]]:
    """The defender's own melds, the cards he lays off and the cards he is left with, each list
    ascending: the least deadwood of all ways to do both; then the fewest cards laid off; then
    the least of his arrangements in order. ``knocker_melds = ()`` (gin) allows no lay-offs."""
    defender = frozenset(defender)
    knocker_melds = tuple(knocker_melds)
    ways = []
    for melds in arrangements(defender):
        loose = defender.difference(*melds)
        for laid in ways_to_lay_off(loose, knocker_melds):
            left = sorted(loose - laid)
            ways.append((points(left), len(laid), melds, sorted(laid), left))
    _, _, melds, laid_off, left = min(ways)
    return melds, laid_off, left


class ReferenceHand:
    """One hand of two players, stepped by action words. All that is hidden lies open.

    ``rules`` is any object with RULES.md's hand-level fields; ``deck`` is in deal order.
    """

    def __init__(self, rules: Any, deck: Sequence[int], dealer: int) -> None:
        size = 2 * rules.hand_size
        self.rules = rules
        self.dealer = dealer
        self.deck = frozenset(deck)
        self.hands: list[set[int]] = [set(), set()]
        self.hands[1 - dealer] = set(deck[0:size:2])
        self.hands[dealer] = set(deck[1:size:2])
        self.upcard = deck[size]
        self.pile: list[int] = [deck[size]]
        """Face up, the top last."""
        self.stock: list[int] = list(deck[size + 1 :])
        """The next card first."""
        self.mover = 1 - dealer
        self.phase = "first offer" if rules.first_upcard == "offer" else "draw"
        """first offer, second offer, refused, draw, play, last offer, close, over."""
        self.taken: int | None = None
        """The card that the mover took from the pile this turn."""
        self.discards = 0
        self._ended: dict[str, Any] | None = None
        self._words: set[str] | None = None

    def copy(self) -> ReferenceHand:
        """The same hand again, free to go another way."""
        twin = ReferenceHand.__new__(ReferenceHand)
        twin.__dict__.update(self.__dict__)
        twin.hands = [set(hand) for hand in self.hands]
        twin.pile = list(self.pile)
        twin.stock = list(self.stock)
        return twin

    @property
    def over(self) -> bool:
        """Whether the hand has ended."""
        return self.phase == "over"

    @property
    def knock_limit(self) -> int:
        """The most deadwood to knock with in this hand."""
        limit = self.rules.knock_limit
        if not self.rules.oklahoma:
            return limit
        ace = self.upcard % 13 == 0
        return min(limit, self.rules.oklahoma_ace if ace else points([self.upcard]))

    def _closing_words(self, eleven: Iterable[int], taken: int | None) -> set[str]:
        """The words that end the hand, for the mover with all his cards after the draw."""
        eleven = set(eleven)
        words = {
            f"knock {name(card)}"
            for card in eleven
            if card != taken and deadwood_after(eleven, card) <= self.knock_limit
        }
        if self.rules.big_gin_bonus is not None and least_deadwood(eleven) == 0:
            words.add("big-gin")
        return words

    def legal(self) -> set[str]:
        """The words of the legal actions; none once the hand is over."""
        if self._words is None:
            self._words = self._legal()
        return set(self._words)

    def _legal(self) -> set[str]:
        hand = self.hands[self.mover]
        if self.phase in ("first offer", "second offer"):
            return {"pass", "take"}
        if self.phase == "refused":
            return {"stock"}
        if self.phase == "draw":
            return {"stock", "take"}
        if self.phase == "play":
            throws = {f"discard {name(card)}" for card in hand if card != self.taken}
            return throws | self._closing_words(hand, self.taken)
        if self.phase == "last offer":
            top = self.pile[-1]
            can_close = self._closing_words(hand | {top}, top)
            return {"pass", "take"} if can_close else {"pass"}
        if self.phase == "close":
            return self._closing_words(hand, self.taken)
        return set()

    def step(self, word: str) -> None:
        """Play a legal action. Raises ValueError for any other."""
        if word not in self.legal():
            raise ValueError(f"{word!r} is not legal: {sorted(self.legal())}")
        self._words = None
        hand = self.hands[self.mover]
        if word == "pass":
            if self.phase == "last offer":
                self._end_dead()
            else:
                self.mover = 1 - self.mover
                self.phase = "second offer" if self.phase == "first offer" else "refused"
        elif word == "take":
            self.taken = self.pile.pop()
            hand.add(self.taken)
            self.phase = "close" if self.phase == "last offer" else "play"
        elif word == "stock":
            hand.add(self.stock.pop(0))
            self.phase = "play"
        elif word == "big-gin":
            self._end_knock(None)
        elif word.startswith("knock "):
            card = card_id(word.split()[1])
            hand.remove(card)
            self._end_knock(card)
        else:
            card = card_id(word.split()[1])
            hand.remove(card)
            self.pile.append(card)
            self._after_discard()

    def _after_discard(self) -> None:
        self.discards += 1
        self.taken = None
        self.mover = 1 - self.mover
        if self.discards >= self.rules.turn_limit:
            self._end_dead()
        elif len(self.stock) > self.rules.stock_floor:
            self.phase = "draw"
        elif self.rules.last_discard == "may_knock":
            self.phase = "last offer"
        else:
            self._end_dead()

    def _end_dead(self) -> None:
        self.phase = "over"
        deadwood = [least_deadwood(hand) for hand in self.hands]
        self._ended = _result("dead", None, 0, deadwood, [(), ()], [])

    def _end_knock(self, thrown: int | None) -> None:
        """The mover has knocked, gone gin or (nothing thrown) big gin.

        RULES.md does not say which of several arrangements a gin shows, where nothing is laid
        off; the knocker's own rule is kept to, for big gin's eleven cards too.
        """
        self.phase = "over"
        rules = self.rules
        knocker, defender = self.mover, 1 - self.mover
        hand = self.hands[knocker]
        maybe = self.deck - hand - set(self.pile) - {thrown}
        melds = [(), ()]
        melds[knocker] = knocker_arrangement(hand, maybe)
        k = least_deadwood(hand)
        on = melds[knocker] if k > 0 else ()
        melds[defender], laid_off, left = lay_off(self.hands[defender], on)
        d = points(left)
        if thrown is None:
            kind, winner, score = "big_gin", knocker, rules.big_gin_bonus + d
        elif k == 0:
            kind, winner, score = "gin", knocker, rules.gin_bonus + d
        elif k < d:
            kind, winner, score = "knock", knocker, d - k
        elif k == d and rules.tie == "draw":
            kind, winner, score = "tie", None, 0
        else:
            kind, winner, score = "undercut", defender, k - d + rules.undercut_bonus
        if rules.spade_upcard_doubles and self.upcard // 13 == SPADES:
            score *= 2
        if rules.spade_knock_doubles and self.pile and self.pile[-1] // 13 == SPADES:
            score *= 2
        deadwood = [0, 0]
        deadwood[knocker], deadwood[defender] = k, d
        self._ended = _result(kind, winner, score, deadwood, melds, laid_off)

    def result(self) -> dict[str, Any]:
        """REPLAYS.md's ``result`` of the ended hand."""
        if self._ended is None:
            raise ValueError("the hand is not over")
        return self._ended


def _result(
    kind: str,
    winner: int | None,
    score: int,
    deadwood: list[int],
    melds: Sequence[Arrangement],
    laid_off: list[int],
) -> dict[str, Any]:
    return {
        "kind": kind,
        "winner": winner,
        "points": score,
        "deadwood": deadwood,
        "melds": [[names(meld) for meld in sorted(side)] for side in melds],
        "layoffs": [name(card) for card in sorted(laid_off)],
    }
