"""Gin Rummy as a PettingZoo AEC environment: two to four players; hands, games or matches.

>>> from ginenv import gin_rummy_v0
>>> env = gin_rummy_v0.env(rules="oklahoma", render_mode="ansi")
>>> env.reset(seed=7, options={"dealer": 0})
>>> env.agent_selection
'player_1'

Observation: ``"observation"`` uint8, what the agent knows, laid out as
``ginenv.observation.LAYOUT`` says (hands) or ``GAME_LAYOUT`` (games and matches: the score as
well); ``"action_mask"`` int8 [108], its legal actions (``ginenv.actions``), all zero for the
agents that are not on move and for all at the end.
"""

from __future__ import annotations

import operator
from collections import OrderedDict
from typing import Any, ClassVar

import numpy as np
from gymnasium import logger, spaces
from gymnasium.utils import EzPickle, seeding
from numpy.typing import NDArray
from pettingzoo import AECEnv

from ginenv import actions, board, engine, match, observation, play, replay
from ginenv import rules as rules_module
from ginenv.aec_wrappers import AssertOutOfBounds, OrderEnforcing, TerminateIllegal
from ginenv.engine import State
from ginenv.play import EPISODES, Play
from ginenv.rules import Rules

REWARDS = ("points", "win")
_OPTIONS = ("deck", "decks", "dealer")
_NOT_READ = "options"
"""The key that PettingZoo's own ``api_test`` resets every environment with."""
_LANE = np.array([0])


def env(
    rules: str | Rules = "classic",
    reward: str = "points",
    render_mode: str | None = None,
    episode: str = "hand",
    **rule_fields: Any,
) -> AECEnv:
    """The environment as it is meant to be used: :class:`raw_env` in PettingZoo's wrappers.

    An illegal action ends the episode, terminated and truncated, with reward -1 for who chose it
    and 0 for the others, as PettingZoo has it. With ``reward="points"`` that is less than most
    hands cost to lose: learn with the mask. What is no action at all is an AssertionError; so is
    a call before the first ``reset``.
    """
    wrapped = raw_env(rules, reward, render_mode, episode, **rule_fields)
    wrapped = TerminateIllegal(wrapped, illegal_reward=-1)
    wrapped = AssertOutOfBounds(wrapped)
    return OrderEnforcing(wrapped)


class raw_env(AECEnv, EzPickle):  # type: ignore[misc]  # noqa: N801 - PettingZoo's name for it
    """The environment without wrappers: agents ``player_0`` to ``player_1``, ``_2`` or ``_3``.

    ``rules``: the name of a preset or a ``Rules`` object; ``rule_fields`` change it field by
    field; ``seating`` decides how many agents there are. ``episode``: ``"hand"`` (partnership: a
    round of two hands), ``"game"`` or ``"match"``; agents go on from hand to hand within it.
    ``render_mode``: None or ``"ansi"``. Raises ValueError that names the argument.

    ``reward="points"``: a hand pays its points to the winner, negated to the loser. A game or
    match pays points as they are entered, each player's own less each opponent's, and at its end
    what is left to the settlement, so that the sum of an agent's rewards is his settlement.
    ``reward="win"``: the end pays 1 to the winner (both partners), and what sums to 0 to the
    others: -1, in a game of cutthroat -1/2 each. A dead hand pays 0.

    In cutthroat the dealer sits out: he is not selected in that hand and observes what is public.
    In partnership the two tables take turns, one action each, until both hands have ended.

    ``infos`` hold what the end of the last hand has shown: ``"result"`` as recorded games have it
    (partnership: of the agent's own table, with ``"partner_result"`` of the other one), and in
    games and matches ``"score_sheet"``. Of a dead hand nobody is told the others' deadwood while
    the episode goes on or could.

    Copies and pickles carry the hands in play.
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
        _check_choice("episode", episode, EPISODES)
        self.reward = reward
        self.render_mode = render_mode
        self.episode = episode
        self.possible_agents = [f"player_{number}" for number in range(self.rules.num_players)]
        self.agents: list[str]
        size = observation.SIZE if episode == "hand" else observation.GAME_SIZE
        self.observation_spaces = {
            agent: _observation_space(size) for agent in self.possible_agents
        }
        self.action_spaces = {
            agent: spaces.Discrete(actions.NUM_ACTIONS) for agent in self.possible_agents
        }
        self.np_random: np.random.Generator | None = None
        self._players = {agent: number for number, agent in enumerate(self.possible_agents)}
        self._play: Play
        self._decks: list[NDArray[np.uint8]]

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
        """Begin an episode, whether or not one is in play.

        ``seed`` starts the generator anew; without it the last one goes on. ``options``:
        ``"deck"``, the whole deck of the first hand in deal order (``"As Td ..."``, a list of
        names or of ids), or ``"decks"``, those of the first hands in the order they are dealt
        (partnership: two a round, the table of player 0 first); and ``"dealer"``, the player who
        deals first. What they set is drawn all the same, so that later decks stay the same; a
        seed gives one deck whoever deals.

        Raises ValueError for an unknown option, and naming what is wrong with a deck or dealer.
        """
        decks, dealer = _read_options(self.rules, options or {})
        if seed is not None or self.np_random is None:
            self.np_random, _ = seeding.np_random(seed)
        self._decks = decks
        first = self._next_decks()
        cut = match.cut(self.rules, self.np_random, 1)
        dealers = cut if dealer is None else np.array([dealer])
        self._play = play.start(self.rules, self.episode, first, dealers)
        self.agents = self.possible_agents[:]
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._paid = False
        # What PettingZoo remembers of agents on their way out of an episode.
        self._skip_agent_selection = None
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        self.infos: dict[str, dict[str, Any]] = {agent: self._score() for agent in self.agents}
        self._start_turn()

    def _next_decks(self) -> NDArray[np.uint8]:
        """The decks of the next hand or round, uint8 [1, T, D]."""
        assert self.np_random is not None
        decks = engine.shuffle(self.rules, self.np_random, self.rules.num_tables)
        for table, deck in enumerate(self._decks[: len(decks)]):
            decks[table] = deck
        self._decks = self._decks[len(decks) :]
        return decks[None]

    def _start_turn(self) -> None:
        self._hands = play.hands_on_move(self._play)
        self.agent_selection = self.possible_agents[self._play.mover[0]]
        self._mask = actions.mask(engine.legal(self._hands))[0].view(np.int8)
        self._encoded: dict[str, NDArray[np.uint8]] = {}

    def observe(self, agent: str) -> dict[str, NDArray[Any]]:
        """What an agent knows: ``"observation"`` uint8, ``"action_mask"`` int8 [108]."""
        # An episode that an illegal action has ended leaves its agents terminated, then unlisted.
        on_move = agent == self.agent_selection and not self.terminations.get(agent, True)
        encoded = self._encoded.get(agent)
        if encoded is None:
            known = self._view(agent, on_move)
            encode = observation.encode if self.episode == "hand" else observation.encode_game
            encoded = self._encoded[agent] = encode(known)[0]
        mask = self._mask.copy() if on_move else np.zeros(actions.NUM_ACTIONS, np.int8)
        return {"observation": encoded.copy(), "action_mask": mask}

    def _view(self, agent: str, on_move: bool) -> observation.View:
        if on_move:  # quicker without a look for the seat
            return play.view(self._play, self._hands)
        player = self._players[agent]
        game = play.standing(self._play, np.array([player]))
        seat = self._seat(player)
        if seat is None:
            return observation.onlooker_view(self._play.hands, game)
        return observation.view(self._hands_at(seat[0]), np.array([seat[1]]), game)

    def _seat(self, player: int) -> tuple[int, int] | None:
        """A player's table and seat; None for who sits out."""
        if self.rules.seating == "heads_up":
            return 0, player
        found = np.argwhere(self._play.seats[0] == player)
        return tuple(found[0].tolist()) if len(found) else None

    def _hands_at(self, table: int) -> State:
        hands = self._play.hands
        return hands if self.rules.num_tables == 1 else hands.take(np.array([table]))

    def step(self, action: int | None) -> None:
        """Play a legal action for the agent on move; None for one whose episode has ended.

        Raises ValueError, in words and naming the legal ones, for any other action.
        """
        agent = self.agent_selection
        if self.terminations[agent] or self.truncations[agent]:
            self._was_dead_step(action)
            return
        ended = play.step(self._play, np.array([self._check(agent, action)]))
        self._cumulative_rewards[agent] = 0.0
        if self._paid:
            self._clear_rewards()
            self._paid = False
        if len(ended.lanes):
            self._end_hands(ended.payoffs[0])
        self._start_turn()

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
        legal = ", ".join(replay.legal_words(self._hands))
        raise ValueError(f"{agent} cannot play {word}; legal: {legal}")

    def _end_hands(self, payoffs: NDArray[np.int64]) -> None:
        """A hand (partnership: a round) is over: pay, tell, and deal the next or end."""
        over = bool(self._play.over[0])
        if self.reward == "points":
            paid = payoffs.astype(float)
        else:
            paid = play.win_payoffs(self._play)[0] if over else np.zeros(len(payoffs))
        self.rewards = dict(zip(self.possible_agents, paid.tolist(), strict=True))
        self._paid = True
        self._accumulate_rewards()
        self.infos = {agent: self._told(player) for agent, player in self._players.items()}
        if over:
            self.terminations = dict.fromkeys(self.agents, True)
        else:
            assert self.np_random is not None
            play.deal(self._play, _LANE, self._next_decks(), self.np_random)

    def _told(self, player: int) -> dict[str, Any]:
        """What a player is told of the hands that have just ended."""
        own = self._seat(player)
        told = self._score()
        for table in range(self.rules.num_tables):
            plays_here = own is None or own[0] == table
            seat = own[1] if own is not None and plays_here else None
            result = engine.result(self._play.hands, table)
            if self.episode != "hand":
                result = observation.known_result(result, seat)
            if self.rules.seating != "heads_up":
                result["seats"] = self._play.seats[0, table].tolist()
            told["result" if plays_here else "partner_result"] = result
        return told

    def _score(self) -> dict[str, Any]:
        return {} if self.episode == "hand" else {"score_sheet": match.sheet(self._play.match, 0)}

    def render(self) -> str | None:
        """The table as text with both hands open, and in games the score sheet.

        None, with a warning, without a render mode.
        """
        if self.render_mode is None:
            logger.warn("render() shows nothing: the environment was made with render_mode=None")
            return None
        tables = []
        for table, seats in enumerate(self._play.seats[0].tolist()):
            names = [self.possible_agents[player] for player in seats]
            tables.append(board.board(self._hands_at(table), names=names))
        if self.episode != "hand":
            tables.append(board.score_sheet(self._play.match, 0, self.possible_agents))
        return "\n\n".join(tables)

    def close(self) -> None:
        """Nothing is held open."""


def _read_rules(rules: str | Rules, fields: dict[str, Any]) -> Rules:
    if isinstance(rules, Rules):
        return rules_module.from_dict({**rules.to_dict(), **fields})
    return rules_module.preset(rules, **fields)


def _check_choice(name: str, value: str | None, choices: tuple[str | None, ...]) -> None:
    if value not in choices:
        right = " or ".join(repr(choice) for choice in choices)
        raise ValueError(f"{name}={value!r}: must be {right}")


def _observation_space(size: int) -> spaces.Dict:
    # Of a plain dict Gymnasium sorts the keys.
    return spaces.Dict(
        OrderedDict(
            observation=spaces.Box(0, 255, (size,), np.uint8),
            action_mask=spaces.Box(0, 1, (actions.NUM_ACTIONS,), np.int8),
        )
    )


def _read_options(
    rules: Rules, options: dict[str, Any]
) -> tuple[list[NDArray[np.uint8]], int | None]:
    """The decks and the dealer that the options set."""
    for key in options:
        if key not in _OPTIONS and key != _NOT_READ:
            raise ValueError(f"options: {key!r} is unknown; there are {', '.join(_OPTIONS)}")
    if "deck" in options and "decks" in options:
        raise ValueError("options: 'deck' is the first of 'decks': give one of the two")
    named = {"deck": options["deck"]} if "deck" in options else {}
    listed = options.get("decks", ())
    if not isinstance(listed, list | tuple | np.ndarray):
        raise ValueError(f"options: decks: {listed!r}: must be a list of decks")
    for number, deck in enumerate(listed, start=1):
        named[f"decks: {number}"] = deck
    decks = []
    for name, deck in named.items():
        try:
            decks.append(replay.check_deck(rules, deck))
        except (TypeError, ValueError) as error:
            raise ValueError(f"options: {name}: {error}") from None
    dealer = None
    if "dealer" in options:
        dealer = options["dealer"]
        whole = isinstance(dealer, int | np.integer) and not isinstance(dealer, bool)
        if not whole or not 0 <= dealer < rules.num_players:
            raise ValueError(
                f"options: dealer={dealer!r}: must be a player's number, "
                f"0 to {rules.num_players - 1}"
            )
    return decks, dealer
