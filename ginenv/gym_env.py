"""Gin Rummy as a Gymnasium environment: one player against an opponent of one's choice.

>>> import gymnasium, ginenv
>>> env = gymnasium.make("ginenv/GinRummy-v0", rules="oklahoma", opponent="random")
>>> observation, info = env.reset(seed=7)
>>> observation, reward, terminated, truncated, info = env.step(env.action_space.sample())

It is played on ``gin_rummy_v0.raw_env``: the opponent moves for every other seat (cutthroat: both;
partnership: the partner too) until it is the player's move again.
"""

from __future__ import annotations

import copy
from typing import Any, ClassVar

import gymnasium
import numpy as np
from gymnasium import logger, spaces
from gymnasium.error import ResetNeeded
from numpy.typing import NDArray

from ginenv import actions, board, engine, gin_rummy_v0, play
from ginenv.engine import State
from ginenv.rules import Rules

Observation = dict[str, NDArray[Any]]

_MOST_UNPLAYED = 100
NO_EPISODE = "there is no episode in play: call reset() first"


class LegalAction(spaces.Discrete):
    """Discrete(108) of which ``sample()``, without a mask, draws an action that is legal now."""

    mask: NDArray[np.int8] | None = None
    """The player's, int8 [108]."""

    def __init__(self) -> None:
        super().__init__(actions.NUM_ACTIONS)

    def sample(self, mask: Any = None, probability: Any = None) -> Any:
        """A legal action, uniformly; after the end any action."""
        if mask is None and probability is None and self.mask is not None and self.mask.any():
            mask = self.mask
        return super().sample(mask, probability)


class PlayerNumber(int):
    """An int that may stand beside None.

    Gymnasium's vector environments give a column of infos the type of its first entry, and plain
    ints then leave no room for the None of a hand without a winner, or of who deals no more.
    """


class GinRummyEnv(gymnasium.Env[Observation, Any]):
    """One player's game against an opponent.

    ``rules``, ``episode``, ``reward`` and ``rule_fields`` are those of ``gin_rummy_v0.raw_env``.
    ``opponent``: ``"random"`` (a uniformly random legal action, from this environment's own
    generator); or an object with ``act(view, legal, generator)`` that gives ints [B] (B is 1), the
    contract of ``agents.Agent``; or a callable that gets an observation such as this environment's
    own, of the seat that is to move, and gives an action. ``player``: the player's number, or None:
    drawn at each reset. ``render_mode``: None or ``"ansi"``. Raises ValueError that names the
    argument.

    Observations: ``"observation"`` uint8 [SIZE] (games and matches: [GAME_SIZE]), what the player
    knows, and ``"action_mask"`` int8 [108]. The reward of a step is all that the player is paid
    from his move to his next, or to the end. No episode is ever truncated.

    ``info`` holds ``"player"``, his number, and what ``raw_env`` tells him of hands that have
    ended. Infos of :meth:`reset` also hold ``"unplayed"``: it can happen that an opponent ends an
    episode before the player's first move (he takes the upcard and knocks). There is nothing to
    decide in such an episode: it is played out within ``reset``, counted there, and another one
    dealt. ``"unplayed_reward"`` is what they paid the player, which belongs to no step.

    Seeded episodes against ``"random"`` are reproduced exactly. The registered environment is
    marked as nondeterministic all the same, because an opponent need not be deterministic, and
    because Gymnasium's ``check_env`` would else play, after a reset, what was legal before it.

    Copies and pickles carry the hand in play.
    """

    metadata: ClassVar[dict[str, Any]] = {  # type: ignore[misc]  # Gymnasium's is of the instance
        "render_modes": ["ansi"],
        "render_fps": 1,
    }

    def __init__(
        self,
        rules: str | Rules = "classic",
        opponent: Any = "random",
        episode: str = "hand",
        reward: str = "points",
        player: int | None = None,
        render_mode: str | None = None,
        **rule_fields: Any,
    ) -> None:
        self._raw = gin_rummy_v0.raw_env(rules, reward, render_mode, episode, **rule_fields)
        self.rules: Rules = self._raw.rules
        self.episode = episode
        self.reward = reward
        self.render_mode = render_mode
        _check_opponent(opponent)
        self.opponent = opponent
        _check_player(player, self.rules, episode)
        self.player = player
        self.observation_space = self._raw.observation_space("player_0")
        self.action_space = self._legal = LegalAction()
        self._number = 0
        """Who the player is in this episode, and in ``raw_env`` by name."""
        self._agent = ""
        self._ready = False
        """Whether it is his move."""
        self._pay = 0.0
        """What he has been paid since his last move."""

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Begin an episode, whether or not one is in play, and play to the player's first move.

        ``seed`` starts the generator anew. ``options`` are those of ``raw_env``'s reset: a seed
        gives here the deck that it gives there. Raises ValueError, naming what is wrong with them.
        """
        self._check_dealer(options or {})
        self._raw.np_random = self.np_random  # one generator for deals and opponent
        self._raw.reset(seed=seed, options=options)
        if seed is not None:
            self._np_random, self._np_random_seed = self._raw.np_random, seed
        unplayed, lost = 0, 0.0
        while not self._begin():
            unplayed += 1
            lost += self._pay
            if unplayed == _MOST_UNPLAYED:
                raise ValueError(
                    f"{unplayed} episodes have ended before {self._agent} could move: "
                    "under these rules, against this opponent, he hardly ever can"
                )
            self._raw.reset()
        return self._told(), {**self._info(), "unplayed": unplayed, "unplayed_reward": lost}

    def _begin(self) -> bool:
        """Seat the player in the episode that was dealt and play to his move, if he has one."""
        seated = list(range(self.rules.num_players))
        if self.episode == "hand":  # in cutthroat the dealer has no part in it
            seated = sorted(self._raw._play.seats[0].flat)
        drawn = int(seated[self.np_random.integers(len(seated))])
        self._number = drawn if self.player is None else self.player
        self._agent = f"player_{self._number}"
        self._ready = False
        self._pay = 0.0
        if self._number in seated:
            self._play_on()
        return self._ready

    def step(
        self,
        action: Any,
    ) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Play a legal action, then the opponent up to the player's next move or the end.

        Raises ValueError, in words and naming the legal ones, for any other action, which leaves
        all as it was; and ResetNeeded before the first reset and after the end.
        """
        if not self._ready:
            raise ResetNeeded(NO_EPISODE)
        self._raw.step(action)
        self._pay += self._raw.rewards[self._agent]
        self._play_on()
        paid, self._pay = self._pay, 0.0
        return self._told(), paid, self._raw.terminations[self._agent], False, self._info()

    def _play_on(self) -> None:
        """Play the other seats until it is the player's move or the end."""
        raw, me = self._raw, self._agent
        self._ready = False  # and so it stays if the opponent fails
        while raw.agent_selection != me and not raw.terminations[me]:
            answer = self._answer(raw.agent_selection)
            try:
                raw.step(answer)
            except ValueError as error:
                raise ValueError(f"opponent: {error}") from None
            self._pay += raw.rewards[me]
        self._ready = not raw.terminations[me]

    def _answer(self, agent: str) -> Any:
        """What the opponent plays for this seat."""
        if not _is_agent(self.opponent) and callable(self.opponent):
            return self.opponent(self._raw.observe(agent))
        hands = play.hands_on_move(self._raw._play)
        legal = engine.legal(hands)
        if _is_agent(self.opponent):
            known = play.view(self._raw._play, hands)
            return self.opponent.act(known, legal, self.np_random)[0]
        choices = actions.mask(legal)[0].nonzero()[0]
        return choices[self.np_random.integers(len(choices))]

    def _told(self) -> Observation:
        told: Observation = self._raw.observe(self._agent)
        self._legal.mask = told["action_mask"].copy()
        return told

    def _info(self) -> dict[str, Any]:
        told = copy.deepcopy(self._raw.infos[self._agent])
        for part in told.values():
            for name in ("winner", "dealer"):
                if part.get(name) is not None:
                    part[name] = PlayerNumber(part[name])
        return {"player": self._number, **told}

    def action_masks(self) -> NDArray[np.bool_]:
        """Which actions are legal, bool [108]: none after the end. MaskablePPO asks for it.

        Raises ResetNeeded before the first reset.
        """
        if self._legal.mask is None:
            raise ResetNeeded(NO_EPISODE)
        return self._legal.mask.astype(np.bool_)

    def render(self) -> Any:
        """What the player sees, as text: his table, and in games the score sheet.

        None, with a warning, without a render mode.
        """
        if self.render_mode is None:
            logger.warn("render() shows nothing: the environment was made with render_mode=None")
            return None
        return self.text()

    def text(self) -> str:
        """What ``render_mode="ansi"`` renders. Raises ResetNeeded before the first reset."""
        if not self._agent:
            raise ResetNeeded(NO_EPISODE)
        names, parts = self._raw.possible_agents, []
        for table, seats in enumerate(self._raw._play.seats[0].tolist()):
            if self._number in seats:
                hands: State = self._raw._play.hands.take(np.array([table]))
                seat = seats.index(self._number)
                parts.append(board.board(hands, seat, [names[player] for player in seats]))
        if self.episode != "hand":
            parts.append(board.score_sheet(self._raw._play.match, 0, names))
        return "\n\n".join(parts)

    def _check_dealer(self, options: dict[str, Any]) -> None:
        if self.player is not None and options.get("dealer") == self.player:
            _check_sits_out(f"options: dealer={self.player}", self.rules, self.episode)


def _is_agent(opponent: Any) -> bool:
    return callable(getattr(opponent, "act", None))


def _check_opponent(opponent: Any) -> None:
    if isinstance(opponent, str) and opponent == "random":
        return
    if isinstance(opponent, type) or not (_is_agent(opponent) or callable(opponent)):
        raise ValueError(
            f"opponent={opponent!r}: must be 'random', an object with act(view, legal, generator), "
            "or a callable from an observation to an action"
        )


def _check_player(player: Any, rules: Rules, episode: str) -> None:
    if player is None:
        return
    if type(player) is not int or not 0 <= player < rules.num_players:
        raise ValueError(
            f"player={player!r}: must be None or a player's number, 0 to {rules.num_players - 1}"
        )
    if rules.first_dealer == player:
        _check_sits_out(f"player={player}: first_dealer={player}", rules, episode)


def _check_sits_out(what: str, rules: Rules, episode: str) -> None:
    """Raise ValueError if the first dealer has no part in an episode."""
    if rules.seating == "cutthroat" and episode == "hand":
        raise ValueError(f"{what}: the dealer sits out of a hand in cutthroat")
