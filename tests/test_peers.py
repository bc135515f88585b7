"""Players of other packages on our rules: they decide as they do at home, and legally."""

from __future__ import annotations

import random
import sys
from collections import Counter
from typing import Any

import numpy as np
import pytest

import agents
from agents import arena
from ginenv import actions, cards, engine, melds, observation
from ginenv.rules import Rules, preset

RULES = {
    "classic": Rules(),
    "cardcouch": preset("cardcouch"),
    "chicago": preset("chicago"),
    "straight": preset("straight"),
    "fiftieth card": Rules(last_discard="may_knock", stock_floor=12, big_gin_bonus=31),
}
PACKAGES = {"openspiel": "pyspiel", "rlcard": "rlcard"}


def peer(name: str, rules: Rules) -> Any:
    pytest.importorskip(PACKAGES[name])
    return agents.load(name, rules)


@pytest.mark.parametrize("name", agents.PEERS)
def test_where_it_is_not_installed_is_one_line(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in [*sys.modules]:
        if module.split(".")[0] == PACKAGES[name]:
            monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, PACKAGES[name], None)
    with pytest.raises(agents.UnknownAgentError, match=f"^{name}: .* not installed.*pip install"):
        agents.load(name, Rules())


@pytest.mark.parametrize("name", agents.PEERS)
def test_small_decks_are_refused(name: str) -> None:
    rules = Rules(num_ranks=5, num_suits=3, hand_size=4, stock_floor=0)
    with pytest.raises(agents.UnknownAgentError, match=f"{name}: .* a whole deck only"):
        agents.load(name, rules)


def legacy_state() -> list[Any]:
    """Numpy's global source of chance."""
    return [str(part) for part in np.random.get_state()]  # noqa: NPY002


@pytest.mark.parametrize("rules", RULES)
@pytest.mark.parametrize("name", agents.PEERS)
def test_peers_play_whole_hands_by_our_rules(name: str, rules: str) -> None:
    player = peer(name, RULES[rules])
    before = legacy_state()
    deals = 12 if name == "openspiel" else 2

    def play() -> Any:
        generators = np.random.default_rng(0), np.random.default_rng(1)
        other = agents.load("simple", RULES[rules])
        return arena.play(RULES[rules], [player, other], deals, *generators)

    one, other = play(), play()
    assert one.illegal.tolist() == [0, 0]
    assert one.hands.points.tolist() == other.hands.points.tolist()  # the generator decides
    assert legacy_state() == before


def test_openspiels_bot_decides_as_in_openspiel() -> None:
    """The same hands there, with the whole history, and its own bot beside ours at each move."""
    pyspiel = pytest.importorskip("pyspiel")
    from test_openspiel import SideBySide, to_ours

    spiel = pyspiel.gin_rummy
    rules = Rules(tie="draw", last_discard="may_knock")
    player, game = peer("openspiel", rules), pyspiel.load_game("gin_rummy")
    bots = [pyspiel.make_simple_gin_rummy_bot(game.get_parameters(), seat) for seat in (0, 1)]
    rng, seen = random.Random(1), Counter[str]()
    for _ in range(40):
        deck = rng.sample(range(52), 52)
        state = engine.deal(rules, np.array([deck], np.uint8), np.array([0]))
        pair = SideBySide(game.new_initial_state(), rules, deck, 0)
        while not state.over[0]:
            legal = engine.legal(state)
            chosen = int(player.act(observation.view(state), legal, np.random.default_rng(0))[0])
            bot = bots[pair.theirs.current_player()]
            bot.restart()
            answer = bot.step(pair.theirs)
            words = actions.format(chosen).split()[0]
            if answer == spiel.KNOCK_ACTION:
                knocking = pair.theirs.clone()
                knocking.apply_action(answer)
                (card,) = to_ours([bot.step(knocking)]) if words == "knock" else (None,)
                seen["knock"] += 1
                assert chosen == (actions.TAKE if card is None else actions.KNOCK + card)
            elif words == "discard":
                assert to_ours([answer]) == {chosen}
            else:
                theirs = {spiel.DRAW_UPCARD_ACTION: "take", spiel.PASS_ACTION: "pass"}
                assert theirs.get(answer, "stock") == words
            seen[words] += 1
            if not pair.play(chosen):
                break
            engine.step(state, np.array([chosen]))
    assert set(seen) == {"pass", "take", "stock", "discard", "knock"}


def test_openspiels_bot_does_not_throw_back_what_it_takes() -> None:
    """There it takes the 4s, since it may knock then, and knocks by throwing it back."""
    pytest.importorskip("pyspiel")
    rules = Rules()
    hand = cards.parse_list("3c 4c 5c 9c 9d 9h 3h 3d 2h Ac").tolist()
    upcard = cards.parse_card("4s")
    rest = [card for card in range(52) if card not in {*hand, upcard}]
    dealt = [card for two in zip(hand, rest[:10], strict=True) for card in two]
    deck = np.array([[*dealt, upcard, *rest[10:]]], np.uint8)
    state = engine.deal(rules, deck, np.array([1]))
    player = peer("openspiel", rules)
    for _ in range(2):
        legal = engine.legal(state)
        chosen = player.act(observation.view(state), legal, np.random.default_rng(0))
        assert actions.contains(actions.words(legal), chosen).all()
        engine.step(state, chosen)
    assert state.over[0]
    assert cards.name(int(state.thrown[0])) in ("3d", "3h")
    assert state.deadwood[0, 0] == 10


def test_rlcards_novice_decides_as_it_says() -> None:
    """It goes gin when it may, knocks when it may, and throws what leaves the least deadwood; it
    draws at random."""
    pytest.importorskip("rlcard")
    rules = Rules()
    player, rng = peer("rlcard", rules), np.random.default_rng(0)
    state = engine.deal(rules, engine.shuffle(rules, rng, 24), rng.integers(0, 2, 24))
    seen = Counter[str]()
    while not state.over.all():
        lanes = (~state.over).nonzero()[0]
        hands = state.take(lanes)
        legal = engine.legal(hands)
        chosen = player.act(observation.view(hands), legal, rng)
        after = melds.deadwood_after_discard(hands.hands[np.arange(len(lanes)), hands.mover])
        for lane, action in enumerate(chosen.tolist()):
            words = actions.format(action).split()[0]
            seen[words] += 1
            if words == "discard":
                throws = cards.to_ids(legal.discards[lane])
                assert after[lane, action] == min(after[lane, card] for card in throws)
            elif words == "knock":
                left = after[lane, action - actions.KNOCK]
                gins = [c for c in cards.to_ids(legal.knocks[lane]) if after[lane, c] == 0]
                assert left == 0 if gins else left <= 10
            if engine.DISCARDING[hands.phase[lane]] and not legal.knocks[lane]:
                assert words == "discard"
        every = np.full(len(state), engine.NO_ACTION)
        every[lanes] = chosen
        engine.step(state, every)
        if seen["stock"] > 150:
            break
    assert min(seen["take"], seen["stock"]) > 0.35 * (seen["take"] + seen["stock"])
