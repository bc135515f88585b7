"""What the networks read beside the observation, recomputed card by card."""

from __future__ import annotations

import numpy as np
import pytest

import agents
from agents import discards, prospects
from ginenv import cards, engine, melds, observation
from ginenv.observation import View
from ginenv.rules import preset

RULES = preset("classic")


def views(lanes: int = 40, steps: int = 14) -> list[View]:
    """Positions of experts' hands, from the first offer on."""
    generator = np.random.default_rng(3)
    agent = agents.load("adaptive", RULES)
    dealers = np.arange(lanes) % 2
    state = engine.deal(RULES, engine.shuffle(RULES, generator, lanes), dealers)
    found = []
    for _ in range(steps):
        view, legal = observation.view(state), engine.legal(state)
        found.append(view)
        going_on = ~state.over
        chosen = np.full(lanes, engine.NO_ACTION)
        chosen[going_on] = agent.act(view, legal, generator)[going_on]
        state = state.copy()
        engine.step(state, chosen)
    return found


def part(encoded: np.ndarray, name: str) -> np.ndarray:
    return encoded[prospects.LAYOUT[name]]


def savings(kept: int, sets: int, drawable: int) -> dict[int, int]:
    """Points saved by each card that may be drawn, by card id."""
    one = (np.array([each], np.uint64) for each in (kept, sets, drawable))
    saved = discards.savings(*one)[0]
    return {card: int(saved[card // 13 * 16 + card % 13]) for card in cards.to_ids(drawable)}


def told(saved: dict[int, int], left: int) -> list[int]:
    """gin, helpful, very_helpful and promise of a hand that waits for a draw."""
    best = sorted(saved.values(), reverse=True)
    gin = sum(points >= left for points in best) if left else 16
    # Savings over ten count in steps of two, rounded down, and those over 30 as 30.
    coarse = [points if points <= 10 else min(points - points % 2, 30) for points in best]
    promise = sum(0.45 * 0.55**n * points for n, points in enumerate(coarse))
    counts = [gin, sum(points >= 1 for points in best), sum(points >= 10 for points in best)]
    return [*counts, int(8 * promise + 1e-3)]


def test_every_number_is_that_of_the_cards() -> None:
    counted = 0
    for view in views():
        encoded = prospects.encode(view)
        throwing = engine.DISCARDING[view.phase]
        for lane in np.flatnonzero(view.phase != engine.OVER)[::3].tolist():
            row, hand, seen = encoded[lane], int(view.hand[lane]), int(view.seen[lane])
            unseen = cards.deck_set(13, 4) & ~np.uint64(hand | seen)
            upcard = int(cards.BIT_OR_NONE[view.upcard[lane]])
            held = hand if throwing[lane] else hand | upcard
            stays = int(cards.BIT_OR_NONE[view.drawn[lane]]) & seen if throwing[lane] else upcard
            sets = int(discards.shown_sets(np.array([held], np.uint64))[0])
            each = {}
            for card in cards.to_ids(held & ~stays):
                kept = held ^ int(cards.BIT[card])
                left = int(melds.deadwood(np.array([kept], np.uint64))[0])
                sets_left = sets & kept
                each[card] = left, told(savings(kept, sets_left, int(unseen)), left)
            for place, name in enumerate(("gin", "helpful", "very_helpful", "promise")):
                plane = part(row, name)
                for card in range(52):
                    want = each[card][1][place] if card in each else 0
                    assert abs(int(plane[card]) - want) <= (name == "promise"), (name, card)
            best = min(each, key=lambda card: (each[card][0], card))
            numbers = {name: int(part(row, name)[0]) for name in prospects.NUMBERS}
            assert numbers["least"] == each[best][0]
            assert numbers["least_gin"] == each[best][1][0]
            assert numbers["most_gin"] == max(what[0] for _, what in each.values())
            assert numbers["least_promise"] == part(row, "promise")[best]
            counted += len(each)
    assert counted > 1000


def test_before_a_draw_it_tells_what_the_hand_and_each_draw_are_worth() -> None:
    for view in views()[::2]:
        encoded = prospects.encode(view)
        for lane in range(0, len(view), 3):
            row, hand, seen = encoded[lane], int(view.hand[lane]), int(view.seen[lane])
            stands = [int(part(row, f"stands_{name}")[0]) for name in prospects.PLANES[:4]]
            if engine.DISCARDING[view.phase[lane]]:
                assert not any(stands)
                assert not part(row, "draw").any()
                continue
            upcard = int(cards.BIT_OR_NONE[view.upcard[lane]])
            unseen = int(cards.deck_set(13, 4) & ~np.uint64(hand | seen))
            one = np.array([hand], np.uint64)
            sets = int(discards.shown_sets(one)[0])
            saved = savings(hand, sets, unseen | upcard)
            draw = part(row, "draw")
            assert {card: int(draw[card]) for card in saved} == saved
            assert sum(draw > 0) == sum(points > 0 for points in saved.values())
            stock = {card: saved[card] for card in cards.to_ids(unseen)}
            want = told(stock, int(melds.deadwood(one)[0]))
            assert stands[:3] == want[:3]
            assert abs(stands[3] - want[3]) <= 1
            # Of the hand with the upcard, as while he discards.
            after = melds.deadwood_after_discard(np.array([hand | upcard], np.uint64))[0]
            shown = part(row, "deadwood_after")
            for card in range(52):
                held = (hand | upcard) & int(cards.BIT[card])
                assert shown[card] == (after[card] + 1 if held else 0)


def test_the_observation_stands_before_it() -> None:
    for view in views()[::5]:
        encoded, bare = prospects.encode(view), observation.encode_game(view)
        discarding = engine.DISCARDING[view.phase]
        after = observation.LAYOUT["deadwood_after"]
        same = np.ones(bare.shape[1], bool)
        same[after] = False
        assert (encoded[:, : bare.shape[1]] == bare)[:, same].all()
        assert (encoded[discarding, after] == bare[discarding, after]).all()


@pytest.mark.parametrize("name", ["classic", "oklahoma", "straight"])
def test_one_lane_is_told_what_many_are(name: str) -> None:
    rules = preset(name)
    generator = np.random.default_rng(5)
    state = engine.deal(rules, engine.shuffle(rules, generator, 6), np.zeros(6, int))
    view = observation.view(state)
    together = prospects.encode(view)
    for lane in range(6):
        alone = prospects.encode(observation.view(state.take(np.array([lane]))))
        assert (alone[0] == together[lane]).all()


def test_a_deck_of_eight_cards_and_no_lanes_at_all() -> None:
    small = preset("classic", num_ranks=4, num_suits=2, hand_size=3, stock_floor=0)
    decks = engine.shuffle(small, np.random.default_rng(0), 5)
    view = observation.view(engine.deal(small, decks, np.zeros(5, int)))
    assert prospects.encode(view).shape == (5, prospects.SIZE)
    nobody = observation.view(engine.deal(small, decks[:0], np.zeros(0, int)))
    assert prospects.encode(nobody).shape == (0, prospects.SIZE)
