"""The agents: legal, reproducible, and what each is defined to do."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import agents
from agents import arena
from agents.random import choose, select_bit
from ginenv import actions, cards, engine, observation
from ginenv.rules import PRESETS, Rules, preset


def dealt(rules: Rules, hand: str, upcard: str, stock: str = "") -> engine.State:
    """One lane in which the non-dealer, seat 0, holds ``hand``."""
    own = cards.parse_list(hand).tolist()
    top, draws = cards.parse_card(upcard), cards.parse_list(stock).tolist()
    others = [card for card in range(52) if card not in {*own, top, *draws}]
    deck = [card for pair in zip(own, others[:10], strict=True) for card in pair]
    deck += [top, *draws, *others[10:]]
    return engine.deal(rules, np.array([deck], dtype=np.uint8), np.array([1]))


def act(name: str, state: engine.State, seed: int = 0) -> str:
    agent = agents.load(name, state.rules)
    view, legal = observation.view(state), engine.legal(state)
    return actions.format(int(agent.act(view, legal, np.random.default_rng(seed))[0]))


def play(state: engine.State, *words: str) -> engine.State:
    for word in words:
        action = actions.parse(word)
        assert actions.mask(engine.legal(state))[0, action], word
        engine.step(state, np.array([action]))
    return state


def test_select_bit_finds_every_set_bit() -> None:
    rng = np.random.default_rng(0)
    for _ in range(200):
        word = int(rng.integers(0, 2**63)) & int(rng.integers(0, 2**63))
        bits = [bit for bit in range(64) if word >> bit & 1]
        nth = np.arange(len(bits), dtype=np.uint64)
        found = select_bit(np.full(len(bits), word, dtype=np.uint64), nth)
        assert found.tolist() == bits


def test_random_is_uniform_over_the_legal_actions() -> None:
    legal = [3, 51, 52, 63, 64, 99, 104, 107]
    words = np.zeros((80_000, 2), dtype=np.uint64)
    for action in legal:
        words[:, action // 64] |= np.uint64(1 << (action % 64))
    chosen = choose(words, np.random.default_rng(1))
    counts = np.bincount(chosen, minlength=108)
    assert set(counts.nonzero()[0].tolist()) == set(legal)
    assert stats.chisquare(counts[legal]).pvalue > 1e-4


@pytest.mark.parametrize("name", agents.AGENTS)
@pytest.mark.parametrize("variant", [*PRESETS, "last", "small"])
def test_agents_never_choose_an_illegal_action(name: str, variant: str) -> None:
    fields = {
        "last": {"last_discard": "may_knock", "big_gin_bonus": 31},
        "small": {"num_ranks": 6, "num_suits": 3, "hand_size": 4, "stock_floor": 0},
    }.get(variant, {})
    rules = preset(variant if variant in PRESETS else "classic", **fields)
    agent = agents.load(name, rules)
    decks, choices = np.random.default_rng(2), np.random.default_rng(3)
    others = [agents.load("random", rules)] * (rules.num_sides - 1)
    results = arena.play(rules, [agent, *others], 100, decks, choices)
    assert not results.illegal.any()


def test_simple_takes_the_upcard_only_if_it_melds() -> None:
    hand = "4c 5c 9d 9h Ks Qd 2h 7s 8d Jc"
    assert act("simple", dealt(Rules(), hand, "6c")) == "take"
    assert act("simple", dealt(Rules(), hand, "9s")) == "take"
    assert act("simple", dealt(Rules(), hand, "2d")) == "pass"
    drawn = play(dealt(Rules(first_upcard="open"), hand, "2d"))
    assert act("simple", drawn) == "stock"


def test_simple_throws_a_card_that_leaves_the_least_ties_at_random() -> None:
    state = dealt(Rules(), "4c 5c 6c 9d 9h Ks Qd 2h 7s 8d", "Ah", "Jh")
    play(state, "pass", "pass", "stock")
    thrown = {act("simple", state, seed) for seed in range(40)}
    assert thrown == {"discard Ks", "discard Qd", "discard Jh"}


def test_simple_knocks_as_soon_as_it_may() -> None:
    state = dealt(Rules(), "4c 5c 6c 9d 9h 9s As Ad 2h 6s", "Kh", "Qs")
    play(state, "pass", "pass", "stock")
    assert act("simple", state) == "knock Qs"


def test_simple_cannot_throw_back_what_it_took() -> None:
    state = dealt(Rules(knock_limit=0), "4c 5c 9d 9h 9s As Ad 2h 7s 3h", "6c")
    play(state, "take")
    assert act("simple", state) == "discard 7s"


def test_simple_declares_big_gin() -> None:
    state = dealt(preset("big_gin"), "4c 5c 6c 9d 9h 9s As 2s 3s 4s", "7c")
    play(state, "take")
    assert act("simple", state) == "big-gin"


def test_an_unknown_agent_names_those_there_are() -> None:
    with pytest.raises(agents.UnknownAgentError, match="'simpel' is no agent: name one of random"):
        agents.load("simpel", Rules())
    with pytest.raises(agents.UnknownAgentError, match="there is no such policy file"):
        agents.load("nowhere.safetensors", Rules())
