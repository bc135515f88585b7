"""OpenSpiel's ``gin_rummy`` as a second opinion: the same deck and the same decisions there and
here, side by side, until the hand is over on both.

At every decision it has to be the same player's move, in the same phase, with the same hands,
pile and stock; the legal draws, discards and knocks are compared, and at the end the deadwood and
the points. OpenSpiel departs from this package's rules in what follows and, as the assertions
hold, in nothing else that these hands show:

* NUMBERING: its suits are ``s c d h``; it deals ten cards to a player at once; the non-dealer is
  its player 0; a stock card is dealt when it is drawn.
* THROWN BACK: a card taken from the pile may be thrown in the same turn, by a discard or by a
  knock. (Its rule that doing so twice in a row draws the hand needs such a discard, and is never
  met here.)
* ONE ARRANGEMENT: whether a knock is offered is read from one arrangement of the eleven cards,
  less its greatest loose card. So a knock can be missing that is good by another arrangement.
  Which cards may be thrown for a knock that is offered it counts exactly.
* WALL: on the last discard its player knocks or passes; the knock takes the card. That is
  ``last_discard="may_knock"``, save for THROWN BACK and ONE ARRANGEMENT.
* FIFTIETH CARD: the hand is dead when a card is taken from the pile for the fiftieth time, the
  offers of the first upcard not counted. ``turn_limit`` is out of reach before that.
* BY HAND: melds and lay-offs are the players' own actions, one by one, good or bad. They are given
  those that ``engine.result`` tells, and the defender's best is searched for among all of them.
* TIE: equal deadwood after a knock scores nothing: ``tie="draw"``.
* OKLAHOMA: the upcard sets the limit whatever ``knock_card`` is (ours never exceeds
  ``knock_limit``), an ace 0; no spade doubles.

There is no big gin in it.
"""

from __future__ import annotations

import dataclasses
import random
from collections import Counter
from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest
from reference import deadwood_after
from styles import Style

from ginenv import actions, cards, engine, melds
from ginenv.rules import Rules

pyspiel = pytest.importorskip("pyspiel")
spiel = pyspiel.gin_rummy

LAST_TAKE = spiel.MAX_NUM_DRAW_UPCARD_ACTIONS

PHASE = {
    engine.OFFER: spiel.Phase.FIRST_UPCARD,
    engine.DEALER_OFFER: spiel.Phase.FIRST_UPCARD,
    engine.MUST_DRAW: spiel.Phase.FIRST_UPCARD,
    engine.DRAW: spiel.Phase.DRAW,
    engine.LAST_OFFER: spiel.Phase.WALL,
    engine.DISCARD: spiel.Phase.DISCARD,
    engine.LAST_DISCARD: spiel.Phase.KNOCK,
}
DRAWS = {
    actions.OTHER_STOCK: spiel.DRAW_STOCK_ACTION,
    actions.OTHER_TAKE: spiel.DRAW_UPCARD_ACTION,
    actions.OTHER_PASS: spiel.PASS_ACTION,
}


SPIEL_SUITS = "scdh"
THEIRS = [
    SPIEL_SUITS.index(suit) * cards.NUM_RANKS + rank
    for suit in cards.SUITS
    for rank in range(cards.NUM_RANKS)
]
OURS = {theirs: card for card, theirs in enumerate(THEIRS)}


def to_theirs(card: int) -> int:
    """NUMBERING: this package's card id as OpenSpiel's."""
    return THEIRS[card]


def to_ours(theirs: Iterable[int]) -> set[int]:
    """NUMBERING: OpenSpiel's cards as this package's."""
    return {OURS[card] for card in theirs}


MELD_ACTION = {
    frozenset(to_ours(meld)): spiel.MELD_ACTION_BASE + number
    for number, meld in spiel.GinRummyUtils(13, 4, 10).int_to_meld.items()
}


STYLES = (
    Style(closes=1.0, waits_for=10, thinks=True, takes=0.5),
    Style(closes=0.4, waits_for=10, thinks=True, takes=0.5),
    Style(closes=1.0, waits_for=0, thinks=True, takes=0.5),
    Style(closes=0.15, waits_for=10, thinks=True, takes=0.5),
    Style(closes=0.5, waits_for=10, thinks=False, takes=0.5),
    Style(closes=0.0, waits_for=10, thinks=True, takes=0.5),
    Style(closes=0.0, waits_for=10, thinks=False, takes=0.99),
)
WEIGHTS = (6, 6, 4, 6, 2, 4, 1)


class SideBySide:
    """One lane and OpenSpiel's hand from the same deck."""

    def __init__(self, undealt: Any, rules: Rules, deck: list[int], dealer: int) -> None:
        self.rules = rules
        self.deck = deck
        self.dealer = dealer
        self.theirs = undealt.clone()  # a hundred times quicker than a new state
        self.takes = 0
        self.seen: Counter[str] = Counter()
        """Which ends and departures have been met."""
        size = 2 * rules.hand_size
        for card in (*deck[0:size:2], *deck[1:size:2], deck[size]):
            self.theirs.apply_action(to_theirs(card))

    def player(self, seat: int) -> int:
        """NUMBERING: the non-dealer is OpenSpiel's player 0."""
        return int(seat == self.dealer)

    def compare(self, ours: Lane) -> None:
        """Assert that both hands are at the same point, with the same legal actions."""
        theirs = self.theirs
        assert theirs.current_player() == self.player(ours.mover)
        assert theirs.current_phase() == PHASE[ours.phase]
        assert theirs.stock_size() == ours.stock_left
        assert theirs.knock_card() == ours.limit
        for seat in (0, 1):
            hand = to_ours(theirs.hands()[self.player(seat)])
            assert hand == ours.hands[seat]
            if len(hand) == self.rules.hand_size:
                assert theirs.deadwood()[self.player(seat)] == ours.deadwood[seat]
        upcard = theirs.upcard()
        pile = [*theirs.discard_pile(), *([] if upcard is None else [upcard])]
        assert [to_theirs(card) for card in ours.pile] == pile
        legal = set(theirs.legal_actions())
        if ours.phase == engine.DISCARD:
            self._compare_discards(ours, legal)
        elif ours.phase == engine.LAST_DISCARD:
            self._compare_knocks(ours, ours.hands[ours.mover], ours.knocks, legal)
        elif ours.phase == engine.LAST_OFFER:
            self._compare_wall(ours, legal)
        else:
            assert legal == {code for bit, code in DRAWS.items() if ours.others & bit}

    def _compare_discards(self, ours: Lane, legal: set[int]) -> None:
        offered = spiel.KNOCK_ACTION in legal
        hand = ours.hands[ours.mover]
        assert to_ours(legal - {spiel.KNOCK_ACTION}) == hand
        # THROWN BACK
        assert ours.discards == hand - ours.taken
        self.seen["thrown back"] += bool(ours.taken)
        if offered:
            self._compare_knocks(ours, hand, ours.knocks, self._knock_discards())
        else:
            self._check_missing(hand, ours.knocks, ours.limit)

    def _compare_knocks(
        self, ours: Lane, hand: set[int], knocks: set[int], theirs: set[int]
    ) -> None:
        """Discards that go with a knock that OpenSpiel offers."""
        theirs = to_ours(theirs)
        thrown_back = theirs & ours.taken
        assert theirs - thrown_back == knocks
        if thrown_back:
            assert deadwood_after(hand, *thrown_back) <= ours.limit
            self.seen["thrown back to knock"] += 1

    def _check_missing(self, eleven: set[int], knocks: set[int], limit: int) -> None:
        """ONE ARRANGEMENT: what OpenSpiel does not offer has to be right all the same."""
        for card in knocks:
            assert deadwood_after(eleven, card) <= limit
        self.seen["one arrangement"] += bool(knocks)

    def _compare_wall(self, ours: Lane, legal: set[int]) -> None:
        """WALL: here a card is taken, there a knock takes it."""
        top = ours.pile[-1]
        eleven = ours.hands[ours.mover] | {top}
        knocks = {card for card in eleven - {top} if deadwood_after(eleven, card) <= ours.limit}
        can_take = bool(ours.others & actions.OTHER_TAKE)
        assert ours.others & ~actions.OTHER_TAKE == actions.OTHER_PASS
        assert can_take == bool(knocks)
        assert legal - {spiel.KNOCK_ACTION} == {spiel.PASS_ACTION}
        if spiel.KNOCK_ACTION not in legal:
            self._check_missing(eleven, knocks, ours.limit)
        else:
            theirs = to_ours(self._knock_discards())
            assert theirs - {top} == knocks
            if not can_take:
                assert theirs == {top}
                self.seen["thrown back at the wall"] += 1

    def _knock_discards(self) -> set[int]:
        knocking = self.theirs.clone()
        knocking.apply_action(spiel.KNOCK_ACTION)
        return set(knocking.legal_actions())

    def offers_knock(self) -> bool:
        """Whether OpenSpiel would let its player knock."""
        return spiel.KNOCK_ACTION in self.theirs.legal_actions() or (
            self.theirs.current_phase() == spiel.Phase.KNOCK
        )

    def play(self, action: int) -> bool:
        """The same decision there; false once FIFTIETH CARD ends the hand there alone."""
        theirs = self.theirs
        if action == actions.STOCK:
            drawn = self.deck[-theirs.stock_size()]
            self._apply(spiel.DRAW_STOCK_ACTION)
            self._apply(to_theirs(drawn))
        elif action == actions.TAKE and theirs.current_phase() == spiel.Phase.WALL:
            self._apply(spiel.KNOCK_ACTION)
            self.seen["knock at the wall"] += 1
        elif action == actions.TAKE:
            self.takes += theirs.current_phase() == spiel.Phase.DRAW
            self._apply(spiel.DRAW_UPCARD_ACTION)
            assert theirs.is_terminal() == (self.takes == LAST_TAKE)
            if theirs.is_terminal():
                assert theirs.returns() == [0, 0]
                self.seen["fiftieth card"] += 1
                return False
        elif action == actions.PASS:
            self._apply(spiel.PASS_ACTION)
        elif action < actions.KNOCK:
            self._apply(to_theirs(action))
        else:
            if theirs.current_phase() == spiel.Phase.DISCARD:
                self._apply(spiel.KNOCK_ACTION)
            self._apply(to_theirs(action - actions.KNOCK))
        return True

    def _apply(self, action: int) -> None:
        assert action in self.theirs.legal_actions()
        self.theirs.apply_action(action)

    def finish(self, result: dict[str, Any], knocker: int) -> None:
        """Lay both hands down as ours were, and compare the end."""
        theirs = self.theirs
        kind = result["kind"]
        self.seen[kind] += 1
        if kind == "dead":
            assert theirs.is_terminal()
            assert theirs.returns() == [0, 0]
            assert result["winner"] is None
            assert result["points"] == 0
            return
        # BY HAND
        self._lay_melds(result["melds"][knocker])
        best = best_defence(theirs)
        laid_off = {to_theirs(cards.parse_card(card)) for card in result["layoffs"]}
        self.seen["laid off"] += bool(laid_off)
        if kind == "gin":
            assert theirs.finished_layoffs()
        else:
            while laid_off:  # a chain along a run goes from its inner end outwards
                self._apply(min(laid_off.intersection(theirs.legal_actions())))
                laid_off.remove(theirs.layoffs()[-1])
            self._apply(spiel.PASS_ACTION)
        self._lay_melds(result["melds"][1 - knocker])
        assert theirs.is_terminal()
        assert theirs.deadwood() == [result["deadwood"][self.player(seat)] for seat in (0, 1)]
        expected = [0.0, 0.0]
        if result["winner"] is not None:
            player = self.player(result["winner"])
            expected[player], expected[1 - player] = result["points"], -result["points"]
        assert theirs.returns() == expected
        assert expected[self.player(1 - knocker)] == best

    def _lay_melds(self, shown: list[str]) -> None:
        for meld in shown:
            self._apply(MELD_ACTION[frozenset(map(cards.parse_card, meld.split()))])
        self._apply(spiel.PASS_ACTION)


@dataclasses.dataclass
class Lane:
    """One lane of ours as plain Python."""

    mover: int
    phase: int
    hands: list[set[int]]
    deadwood: list[int]
    pile: list[int]
    stock_left: int
    limit: int
    taken: set[int]
    """The card taken from the pile this turn, or nothing."""
    discards: set[int]
    knocks: set[int]
    others: int
    after: list[int]
    """Deadwood that each discard of the mover leaves, by card id."""
    top_helps: bool
    """Whether the mover's deadwood would be less with the top of the pile."""


def lanes_of(state: engine.State) -> list[Lane]:
    """All lanes as plain Python."""
    legal = engine.legal(state)
    moving = state.hands[np.arange(len(state)), state.mover]
    taken = [
        {int(card)}.intersection(cards.to_ids(seen))
        for card, seen in zip(state.drawn, state.seen, strict=True)
    ]
    deadwood = melds.deadwood(state.hands.reshape(-1)).reshape(-1, 2).tolist()
    after = melds.deadwood_after_discard(moving).tolist()
    tops = np.append(cards.BIT, np.zeros(256 - cards.NUM_CARDS, dtype=np.uint64))[state.top]
    with_top = melds.deadwood_after_discard(moving | tops).min(axis=1)
    top_helps = (with_top < melds.deadwood(moving)).tolist()
    return [
        Lane(
            mover=int(state.mover[lane]),
            phase=int(state.phase[lane]),
            hands=[set(cards.to_ids(hand)) for hand in state.hands[lane]],
            deadwood=deadwood[lane],
            pile=state.pile[lane, : state.pile_size[lane]].tolist(),
            stock_left=int(state.stock_left[lane]),
            limit=int(state.knock_limit[lane]),
            taken=taken[lane],
            discards=set(cards.to_ids(legal.discards[lane])),
            knocks=set(cards.to_ids(legal.knocks[lane])),
            others=int(legal.others[lane]),
            after=after[lane],
            top_helps=top_helps[lane],
        )
        for lane in range(len(state))
    ]


def choose(lane: Lane, may_knock: bool, style: Style, rng: random.Random) -> int:
    """A decision that is legal on both sides."""
    ready = [card for card in sorted(lane.knocks) if lane.after[card] <= style.waits_for]
    if lane.phase == engine.LAST_DISCARD:
        return actions.KNOCK + rng.choice(sorted(lane.knocks))
    if lane.phase == engine.DISCARD:
        if ready and may_knock and rng.random() < style.closes:
            return actions.KNOCK + rng.choice(ready)
        discards = sorted(lane.discards)
        if style.thinks:
            least = min(lane.after[card] for card in discards)
            discards = [card for card in discards if lane.after[card] == least]
        return rng.choice(discards)
    if lane.phase == engine.LAST_OFFER:
        take = may_knock and lane.others & actions.OTHER_TAKE and rng.random() < 0.7
        return actions.TAKE if take else actions.PASS
    decline = actions.PASS if lane.others & actions.OTHER_PASS else actions.STOCK
    take = lane.top_helps if style.thinks else rng.random() < style.takes
    return actions.TAKE if take and lane.others & actions.OTHER_TAKE else decline


def best_defence(state: Any) -> float:
    """The most that the defender, whose move it is, can score by any lay-offs and melds."""
    defender = state.current_player()
    seen: dict[tuple[Any, ...], float] = {}

    def search(state: Any) -> float:
        if state.is_terminal():
            return state.returns()[defender]
        held = frozenset(state.hands()[defender])
        key = (state.finished_layoffs(), held, frozenset(state.layoffs()))
        if key not in seen:
            seen[key] = max(search(state.child(action)) for action in state.legal_actions())
        return seen[key]

    return search(state)


def play_hands(rules: Rules, undealt: Any, hands: int, seed: int) -> Counter[str]:
    """Play that many hands on both, and count what has been met."""
    rng = random.Random(seed)
    decks = [rng.sample(range(cards.NUM_CARDS), cards.NUM_CARDS) for _ in range(hands)]
    dealers = [rng.randrange(2) for _ in range(hands)]
    state = engine.deal(rules, np.array(decks, dtype=np.uint8), np.array(dealers))
    pairs = [
        SideBySide(undealt, rules, deck, dealer)
        for deck, dealer in zip(decks, dealers, strict=True)
    ]
    styles = [rng.choices(STYLES, WEIGHTS, k=2) for _ in range(hands)]
    styles[::60] = [[STYLES[-1]] * 2 for _ in styles[::60]]  # neither draws from the stock
    live = list(range(hands))
    while live:
        chosen = np.zeros(hands, dtype=np.intp)
        still_live = []
        everyone = state.take(np.array(live))
        for lane, ours in zip(live, lanes_of(everyone), strict=True):
            pair = pairs[lane]
            pair.compare(ours)
            chosen[lane] = choose(ours, pair.offers_knock(), styles[lane][ours.mover], rng)
            if pair.play(int(chosen[lane])):
                still_live.append(lane)
        engine.step(everyone, chosen[live])
        state.put(np.array(live), everyone)
        for lane in still_live:
            if state.phase[lane] == engine.OVER:
                pairs[lane].finish(engine.result(state, lane), int(state.mover[lane]))
        live = [lane for lane in still_live if state.phase[lane] != engine.OVER]
    return sum((pair.seen for pair in pairs), Counter())


ENDS = {"knock", "gin", "undercut", "tie", "dead", "laid off", "knock at the wall"}
DEPARTURES = {
    "thrown back",
    "thrown back to knock",
    "thrown back at the wall",
    "fiftieth card",
}


@pytest.mark.parametrize(
    ("fields", "parameters", "hands"),
    [
        ({}, {}, 1_200),
        (
            {"knock_limit": 7, "gin_bonus": 20, "undercut_bonus": 10},
            {"knock_card": 7, "gin_bonus": 20, "undercut_bonus": 10},
            300,
        ),
        ({"knock_limit": 0}, {"knock_card": 0}, 200),
        ({"oklahoma": True}, {"oklahoma": True}, 400),
    ],
    ids=["default", "bonuses", "straight", "oklahoma"],
)
def test_same_hands_same_points(
    fields: dict[str, Any], parameters: dict[str, Any], hands: int
) -> None:
    rules = Rules(tie="draw", last_discard="may_knock", **fields)
    undealt = pyspiel.load_game("gin_rummy", parameters).new_initial_state()
    seen = play_hands(rules, undealt, hands, seed=hands)
    assert {"gin", "dead", "fiftieth card", "thrown back"} <= set(+seen)
    if not fields:
        assert set(+seen) >= ENDS | DEPARTURES


def test_a_knock_that_is_good_by_another_arrangement() -> None:
    """ONE ARRANGEMENT: OpenSpiel sees 8c8d8s 6h7h8h9h, which leaves 18, and 11 once a 7 is
    thrown; 7c7d7h 8c8d8h8s leaves 10 once the 9h is thrown."""
    eleven = cards.parse_list("7c 8c 7d 8d 2h 6h 7h 8h 9h 2s 8s").tolist()
    others = [card for card in range(cards.NUM_CARDS) if card not in eleven]
    dealer_hand, upcard, stock = others[:10], others[10], [eleven[10], *others[11:]]
    dealt = [card for pair in zip(eleven[:10], dealer_hand, strict=True) for card in pair]
    deck = [*dealt, upcard, *stock]
    rules = Rules(tie="draw", last_discard="may_knock")
    undealt = pyspiel.load_game("gin_rummy").new_initial_state()
    pair = SideBySide(undealt, rules, deck, dealer=0)
    state = engine.deal(rules, np.array([deck], dtype=np.uint8), np.array([0]))
    for action in (actions.PASS, actions.PASS, actions.STOCK):
        pair.compare(lanes_of(state)[0])
        pair.play(action)
        engine.step(state, np.array([action]))
    ours = lanes_of(state)[0]
    pair.compare(ours)
    assert not pair.offers_knock()
    assert ours.knocks == {cards.parse_card("9h")}
    assert deadwood_after(eleven, cards.parse_card("9h")) == 10
    assert pair.seen["one arrangement"] == 1


def test_oklahoma_is_not_capped_there() -> None:
    """OKLAHOMA: with a lower ``knock_limit`` ours keeps to it, OpenSpiel to the upcard."""
    game = pyspiel.load_game("gin_rummy", {"oklahoma": True, "knock_card": 5})
    undealt = game.new_initial_state()
    rules = Rules(oklahoma=True, knock_limit=5)
    deck = list(range(52))
    for upcard, ours, theirs in (("Ks", 5, 10), ("5s", 5, 5), ("3s", 3, 3), ("As", 0, 0)):
        card = cards.parse_card(upcard)
        order = [c for c in deck if c != card]
        order.insert(20, card)
        pair = SideBySide(undealt, rules, order, dealer=0)
        state = engine.deal(rules, np.array([order], dtype=np.uint8), np.array([0]))
        assert state.knock_limit[0] == ours
        assert pair.theirs.knock_card() == theirs
