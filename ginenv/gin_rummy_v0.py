"""Gin Rummy as a PettingZoo AEC environment: two players, one hand an episode.

>>> from ginenv import gin_rummy_v0
>>> env = gin_rummy_v0.env(rules="oklahoma", render_mode="ansi")
>>> env.reset(seed=7, options={"dealer": 0})
>>> env.agent_selection
'player_1'

Observation: ``"observation"`` uint8 [SIZE], laid out as ``ginenv.observation.LAYOUT`` says, what
the agent knows; ``"action_mask"`` int8 [108], its legal actions (``ginenv.actions``), all zero
for the agent that is not on move and for both at the end.
"""

from __future__ import annotations

import copy
import operator
from collections import OrderedDict
from typing import Any, ClassVar

import numpy as np
from gymnasium import logger, spaces
from gymnasium.utils import EzPickle, seeding
from numpy.typing import NDArray
from pettingzoo import AECEnv
from pettingzoo.utils import wrappers

from ginenv import actions, board, engine, match, observation, replay
from ginenv import rules as rules_module
from ginenv.engine import State
from ginenv.rules import Rules

AGENTS = ("player_0", "player_1")
REWARDS = ("points", "win")
_SEATS = {agent: np.array([seat]) for seat, agent in enumerate(AGENTS)}
_OPTIONS = ("deck", "dealer")
_NOT_READ = "options"
"""The key that PettingZoo's own ``api_test`` resets every environment with."""


def env(
    rules: str | Rules = "classic",
    reward: str = "points",
    render_mode: str | None = None,
    episode: str = "hand",
    **rule_fields: Any,
) -> AECEnv:
    """The environment as it is meant to be used: :class:`raw_env` in PettingZoo's wrappers.

    An illegal action ends the hand, terminated and truncated, with reward -1 for who chose it and
    0 for the other, as PettingZoo has it. With ``reward="points"`` that is less than most hands
    cost to lose: learn with the mask. What is no action at all is an AssertionError; so is a call
    before the first ``reset``.
    """
    wrapped = raw_env(rules, reward, render_mode, episode, **rule_fields)
    wrapped = _TerminateIllegal(wrapped, illegal_reward=-1)
    wrapped = _AssertOutOfBounds(wrapped)
    return _OrderEnforcing(wrapped)


class raw_env(AECEnv, EzPickle):  # type: ignore[misc]  # noqa: N801 - PettingZoo's name for it
    """One hand between two agents, without wrappers.

    ``rules``: the name of a preset or a ``Rules`` object; ``rule_fields`` change it field by
    field. ``reward``: what the end pays, to the winner and negated to the loser: ``"points"`` (the
    points of the hand) or ``"win"`` (1); a dead hand pays 0. ``render_mode``: None or ``"ansi"``.
    ``episode``: ``"hand"``. Raises ValueError that names the argument.

    Copies and pickles carry the hand in play.
    """

    metadata: ClassVar[dict[str, Any]] = {
        "render_modes": ["ansi"],
        "name": "gin_rummy_v0",
        "is_parallelizable": False,
        "render_fps": 1,
    }

    def __init__(
        self,
        rules: str | Rules = "classic",
        reward: str = "points",
        render_mode: str | None = None,
        episode: str = "hand",
        **rule_fields: Any,
    ) -> None:
        EzPickle.__init__(self, rules, reward, render_mode, episode, **rule_fields)
        super().__init__()
        self.rules = _read_rules(rules, rule_fields)
        _check_choice("reward", reward, REWARDS)
        _check_choice("render_mode", render_mode, (None, "ansi"))
        _check_choice("episode", episode, ("hand",))
        self.reward = reward
        self.render_mode = render_mode
        self.possible_agents = list(AGENTS)
        self.agents: list[str]
        self.observation_spaces = {agent: _observation_space() for agent in AGENTS}
        self.action_spaces = {agent: spaces.Discrete(actions.NUM_ACTIONS) for agent in AGENTS}
        self.np_random: np.random.Generator | None = None
        self._hand: State

    # EzPickle would make a new environment from the arguments, and the hand in play were lost.
    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__.copy()

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)

    def observation_space(self, agent: str) -> spaces.Space[Any]:
        """The space of what :meth:`observe` returns, the same object at each call."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> spaces.Space[Any]:
        """Discrete(108), the same object at each call."""
        return self.action_spaces[agent]

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Deal a hand.

        ``seed`` starts the generator anew; without it the last one goes on. ``options``:
        ``"deck"``, the whole deck in deal order (``"As Td ..."``, a list of names or of ids), and
        ``"dealer"``, 0 or 1. What they set is drawn all the same, so that the hands after it stay
        the same; a seed gives one deck whoever deals.

        Raises ValueError for an unknown option, and naming what is wrong with a deck or dealer.
        """
        deck, dealer = _read_options(self.rules, options or {})
        if seed is not None or self.np_random is None:
            self.np_random, _ = seeding.np_random(seed)
        decks = engine.shuffle(self.rules, self.np_random, 1)
        cut = match.cut(self.rules, self.np_random, 1)
        self._hand = engine.deal(
            self.rules,
            decks if deck is None else deck[None],
            cut if dealer is None else np.array([dealer]),
        )
        self.agents = self.possible_agents[:]
        self.rewards = dict.fromkeys(AGENTS, 0.0)
        self._cumulative_rewards = dict.fromkeys(AGENTS, 0.0)
        self.terminations = dict.fromkeys(AGENTS, False)
        self.truncations = dict.fromkeys(AGENTS, False)
        self.infos: dict[str, dict[str, Any]] = {agent: {} for agent in AGENTS}
        self._start_turn()

    def _start_turn(self) -> None:
        self.agent_selection = AGENTS[self._hand.mover[0]]
        self._mask = actions.mask(engine.legal(self._hand))[0].view(np.int8)
        self._encoded: dict[str, NDArray[np.uint8]] = {}

    def observe(self, agent: str) -> dict[str, NDArray[Any]]:
        """What an agent knows: ``"observation"`` uint8 [SIZE], ``"action_mask"`` int8 [108]."""
        # A hand that an illegal action has ended leaves its agents terminated, then unlisted.
        on_move = agent == self.agent_selection and not self.terminations.get(agent, True)
        encoded = self._encoded.get(agent)
        if encoded is None:
            # The view of the seat on move is quicker without its number.
            known = observation.view(self._hand, None if on_move else _SEATS[agent])
            encoded = self._encoded[agent] = observation.encode(known)[0]
        mask = self._mask.copy() if on_move else np.zeros(actions.NUM_ACTIONS, np.int8)
        return {"observation": encoded.copy(), "action_mask": mask}

    def step(self, action: int | None) -> None:
        """Play a legal action for the agent on move; None for one whose hand has ended.

        Raises ValueError, in words and naming the legal ones, for any other action.
        """
        agent = self.agent_selection
        if self.terminations[agent] or self.truncations[agent]:
            self._was_dead_step(action)
            return
        engine.step(self._hand, np.array([self._check(agent, action)]))
        self._start_turn()
        if self._hand.phase[0] == engine.OVER:
            self._end()

    def _check(self, agent: str, action: Any) -> int:
        try:
            chosen = operator.index(action)
        except TypeError:
            chosen = -1
        if 0 <= chosen < actions.NUM_ACTIONS and self._mask[chosen]:
            return chosen
        if 0 <= chosen < actions.NUM_ACTIONS:
            word = repr(actions.format(chosen))
        else:
            word = f"{action!r}, which is no action id (0..{actions.NUM_ACTIONS - 1})"
        legal = ", ".join(replay.legal_words(self._hand))
        raise ValueError(f"{agent} cannot play {word}; legal: {legal}")

    def _end(self) -> None:
        result = engine.result(self._hand, 0)
        winner = result["winner"]
        if winner is not None:
            paid = float(result["points"]) if self.reward == "points" else 1.0
            self.rewards = {AGENTS[winner]: paid, AGENTS[1 - winner]: -paid}
        self._accumulate_rewards()
        self.terminations = dict.fromkeys(AGENTS, True)
        # Each has his own: what one does with it is not the other's business.
        self.infos = {agent: {"result": copy.deepcopy(result)} for agent in AGENTS}

    def render(self) -> str | None:
        """The table as text with both hands open; None, with a warning, without a render mode."""
        if self.render_mode is None:
            logger.warn("render() shows nothing: the environment was made with render_mode=None")
            return None
        return board.board(self._hand, names=AGENTS)

    def close(self) -> None:
        """Nothing is held open."""


class _Direct(wrappers.BaseWrapper):  # type: ignore[misc]
    """A wrapper that reads the state of play straight from the raw environment.

    PettingZoo's wrappers ask one another for each attribute, which would take as long as the game.
    Before the first reset the raw environment has none of these, and they are asked after all.
    """

    agents = property(operator.attrgetter("_raw.agents"))
    agent_selection = property(operator.attrgetter("_raw.agent_selection"))
    rewards = property(operator.attrgetter("_raw.rewards"))
    terminations = property(operator.attrgetter("_raw.terminations"))
    truncations = property(operator.attrgetter("_raw.truncations"))
    infos = property(operator.attrgetter("_raw.infos"))
    _cumulative_rewards = property(operator.attrgetter("_raw._cumulative_rewards"))

    def __init__(self, env: AECEnv, **arguments: Any) -> None:
        super().__init__(env, **arguments)
        self._raw = env.unwrapped

    def __str__(self) -> str:
        return str(self.env)


class _TerminateIllegal(_Direct, wrappers.TerminateIllegalWrapper):  # type: ignore[misc]
    pass


class _AssertOutOfBounds(_Direct, wrappers.AssertOutOfBoundsWrapper):  # type: ignore[misc]
    def step(self, action: Any) -> None:
        # Gymnasium takes as long to look at a plain number as the hand to draw a card.
        if type(action) is int and 0 <= action < actions.NUM_ACTIONS:
            wrappers.BaseWrapper.step(self, action)
        else:
            super().step(action)


class _OrderEnforcing(_Direct, wrappers.OrderEnforcingWrapper):  # type: ignore[misc]
    pass


def _read_rules(rules: str | Rules, fields: dict[str, Any]) -> Rules:
    if isinstance(rules, Rules):
        chosen = rules_module.from_dict({**rules.to_dict(), **fields})
    else:
        chosen = rules_module.preset(rules, **fields)
    if chosen.seating != "heads_up":
        raise ValueError(
            f"seating={chosen.seating!r} is played by {chosen.num_players} in whole games, which "
            "this version does not have: episodes are single hands of two"
        )
    return chosen


def _check_choice(name: str, value: str | None, choices: tuple[str | None, ...]) -> None:
    if value not in choices:
        right = " or ".join(repr(choice) for choice in choices)
        raise ValueError(f"{name}={value!r}: must be {right}")


def _observation_space() -> spaces.Dict:
    # Of a plain dict Gymnasium sorts the keys.
    return spaces.Dict(
        OrderedDict(
            observation=spaces.Box(0, 255, (observation.SIZE,), np.uint8),
            action_mask=spaces.Box(0, 1, (actions.NUM_ACTIONS,), np.int8),
        )
    )


def _read_options(
    rules: Rules, options: dict[str, Any]
) -> tuple[NDArray[np.uint8] | None, int | None]:
    """The deck and the dealer that the options set."""
    for key in options:
        if key not in _OPTIONS and key != _NOT_READ:
            raise ValueError(f"options: {key!r} is unknown; there are {', '.join(_OPTIONS)}")
    deck = dealer = None
    if "deck" in options:
        try:
            deck = replay.check_deck(rules, options["deck"])
        except (TypeError, ValueError) as error:
            raise ValueError(f"options: deck: {error}") from None
    if "dealer" in options:
        dealer = options["dealer"]
        whole = isinstance(dealer, int | np.integer) and not isinstance(dealer, bool)
        if not whole or dealer not in (0, 1):
            raise ValueError(f"options: dealer={dealer!r}: must be 0 or 1")
    return deck, dealer
