"""Many episodes of Gin Rummy at once as a Gymnasium vector environment, for self-play.

>>> import gymnasium, ginenv
>>> envs = gymnasium.make_vec("ginenv/GinRummy-v0", num_envs=8, rules="oklahoma")
>>> observations, infos = envs.reset(seed=7)
>>> observations["observation"].shape, observations["action_mask"].shape
((8, 704), (8, 108))

Whoever is on move in a lane is the one who is shown it and whose action is asked for:
``infos["mover"]`` says which player that is. The batched engine steps all lanes in one go.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Any, ClassVar

import numpy as np
from gymnasium import spaces
from gymnasium.error import ResetNeeded
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from ginenv import actions, engine, gin_rummy_v0, match, observation, play
from ginenv.play import Play
from ginenv.rules import Rules

Observations = dict[str, NDArray[Any]]


class LegalActions(spaces.MultiDiscrete):
    """MultiDiscrete([108, ...]) of which ``sample()``, without a mask, draws what is legal now."""

    words: NDArray[np.uint64] | None = None
    """The legal actions of each lane as :func:`ginenv.actions.words` has them, uint64 [B, 2]."""

    def sample(self, mask: Any = None, probability: Any = None) -> NDArray[Any]:
        """An action for each lane, int64 [B]: uniformly one of the legal ones."""
        if mask is not None or probability is not None or self.words is None:
            return super().sample(mask, probability)
        legal = actions.unpack(self.words)
        drawn: NDArray[Any] = (legal * (1.0 - self.np_random.random(legal.shape))).argmax(axis=1)
        return drawn


class GinRummyVectorEnv(VectorEnv[Observations, Any, NDArray[Any]]):
    """B episodes in which all players are the one who calls :meth:`step`.

    ``rules``, ``episode``, ``reward`` and ``rule_fields`` are those of ``gin_rummy_v0.raw_env``;
    so are the rewards. ``check_actions=False`` leaves out the look whether actions are legal: what
    an illegal one then does is not defined. ``final_obs=False`` leaves out ``"final_obs"`` and
    ``"final_info"``, which take a sixth of the time. Raises ValueError that names the argument.

    Observations: ``"observation"`` uint8 [B, SIZE] (games and matches: [B, GAME_SIZE]), what the
    player on move knows, and ``"action_mask"`` int8 [B, 108]. ``action_space.sample()`` draws
    legal actions. A step's rewards, float64 [B], are what it pays to the player who acted. Its
    ``infos``, each with the mask of its lanes, bool [B], under the same name after an underscore:

    - ``"mover"``, int [B]: the player who is on move now;
    - ``"rewards"``, float64 [B, P]: what the step pays to each player.

    Where an episode ends (``terminations``; none is ever truncated) another one begins in the same
    step, whose first observation this is, and there are:

    - ``"payoffs"``, float64 [B, P]: each player's rewards summed over the episode;
    - ``"final_obs"``, objects [B]: the observation, in the end, of the player who acted last, with
      no legal action;
    - ``"final_info"``: ``"mover"``, who acted last; ``"rewards"``, ``"payoffs"`` as above;
      ``"winner"``, int [B], the side that won the episode, -1 for nobody.
    """

    metadata: ClassVar[dict[str, Any]] = {  # type: ignore[misc]  # Gymnasium's is of the instance
        "render_modes": [],
        "autoreset_mode": AutoresetMode.SAME_STEP,
    }

    def __init__(
        self,
        num_envs: int = 1,
        rules: str | Rules = "classic",
        episode: str = "hand",
        reward: str = "points",
        check_actions: bool = True,
        final_obs: bool = True,
        render_mode: None = None,
        **rule_fields: Any,
    ) -> None:
        for name in ("opponent", "player"):
            if name in rule_fields:
                raise ValueError(f"{name}: this vector environment plays all seats (self-play)")
        if render_mode is not None:
            raise ValueError(f"render_mode={render_mode!r}: must be None")
        if type(num_envs) is not int or num_envs < 1:
            raise ValueError(f"num_envs={num_envs!r}: must be a whole number, at least 1")
        # Arguments and spaces are read by the environment of which these are many.
        single = gin_rummy_v0.raw_env(rules, reward, None, episode, **rule_fields)
        self.num_envs = num_envs
        self.rules = single.rules
        self.episode = episode
        self.reward = reward
        self.check_actions = check_actions
        self.final_obs = final_obs
        self.single_observation_space = single.observation_space("player_0")
        self.single_action_space = single.action_space("player_0")
        self.observation_space = _batched(self.single_observation_space, num_envs)
        self.action_space = self._legal = LegalActions([actions.NUM_ACTIONS] * num_envs)
        self._encode = observation.encode if episode == "hand" else observation.encode_game
        self._lanes = np.arange(num_envs)
        self._play: Play | None = None

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observations, dict[str, Any]]:
        """Begin an episode in every lane, whatever is in play.

        ``seed`` starts the one generator of all lanes anew. ``options``: ``"reset_mask"``, bool
        [B]: only in these lanes. Returns observations and ``infos`` with ``"mover"``.

        Raises ValueError for an unknown option and what is no mask, and ResetNeeded for a mask
        before the first reset of all lanes.
        """
        lanes = self._read_options(options or {})
        super().reset(seed=seed)
        if lanes is None:
            decks, dealers = self._shuffle(self.num_envs), self._cut(self.num_envs)
            self._play = play.start(self.rules, self.episode, decks, dealers)
        else:
            self._restart(self._going(), lanes)
        return self._look(), self._all_told(mover=self._going().mover.copy())

    def step(
        self,
        actions: Any,  # the name that Gymnasium gives it
    ) -> tuple[Observations, NDArray[Any], NDArray[Any], NDArray[Any], dict[str, Any]]:
        """Play an action for the player on move in every lane, ints [B].

        Raises ResetNeeded before the first reset, and ValueError for actions that are not legal,
        which leaves all lanes as they were.
        """
        game = self._going()
        played = self._read_actions(actions)
        acted = _Acted(game)
        ended = play.step(game, played)
        rewards = np.zeros((self.num_envs, self.rules.num_players))
        over = np.zeros(self.num_envs, np.bool_)
        infos: dict[str, Any] = {}
        if len(ended.lanes):
            paid: NDArray[Any] = ended.payoffs
            if self.reward == "win":
                paid = play.win_payoffs(game)[ended.lanes]
            rewards[ended.lanes] = paid
            ends = game.over[ended.lanes]
            over[ended.lanes] = ends
            if ends.any():
                infos = self._tell_ends(game, over, acted, rewards)
            self._go_on(game, ended.lanes[~ends], ended.lanes[ends])
        observations = self._look()
        infos |= self._all_told(mover=game.mover.copy(), rewards=rewards)
        truncations = np.zeros(self.num_envs, np.bool_)
        return observations, rewards[self._lanes, acted.player], over, truncations, infos

    def _look(self) -> Observations:
        """What the players on move know and may do."""
        game = self._going()
        hands = play.hands_on_move(game)
        self._legal.words = actions.words(engine.legal(hands))
        return {
            "observation": self._encode(play.view(game, hands)),
            "action_mask": actions.unpack(self._legal.words).view(np.int8),
        }

    def _tell_ends(
        self, game: Play, over: NDArray[np.bool_], acted: _Acted, rewards: NDArray[Any]
    ) -> dict[str, Any]:
        """What ``infos`` hold of the episodes that have ended, before others are dealt."""
        paid = game.paid if self.reward == "points" else play.win_payoffs(game)
        payoffs = np.where(over[:, None], paid, 0.0)
        if not self.final_obs:
            return _masked({"payoffs": payoffs}, over)
        final = np.full(self.num_envs, None, dtype=object)
        known = acted.view(game, over.nonzero()[0])
        masks = np.zeros((len(known), actions.NUM_ACTIONS), np.int8)
        # Gymnasium's own environments, and its wrappers, have an object for each ended lane.
        final[over] = [
            {"observation": row, "action_mask": mask}
            for row, mask in zip(self._encode(known), masks, strict=True)
        ]
        told = {
            "mover": np.where(over, acted.player, 0),
            "rewards": np.where(over[:, None], rewards, 0.0),
            "payoffs": payoffs.copy(),
            "winner": np.where(over, play.winners(game), match.NOBODY).astype(np.intp),
        }
        infos = {"payoffs": payoffs, "final_obs": final, "final_info": _masked(told, over)}
        return _masked(infos, over)

    def _all_told(self, **told: NDArray[Any]) -> dict[str, Any]:
        """What ``infos`` hold of every lane."""
        return _masked(told, np.ones(self.num_envs, np.bool_))

    def _go_on(self, game: Play, on: NDArray[np.intp], off: NDArray[np.intp]) -> None:
        """Deal the next hands of episodes that go on, and begin others in lanes that are over."""
        if len(on):
            play.deal(game, on, self._shuffle(len(on)), self.np_random)
        if len(off):
            self._restart(game, off)

    def _restart(self, game: Play, lanes: NDArray[np.intp]) -> None:
        play.restart(game, lanes, self._shuffle(len(lanes)), self._cut(len(lanes)))

    def _shuffle(self, lanes: int) -> NDArray[np.uint8]:
        """Decks for the tables of so many episodes, uint8 [lanes, T, D]."""
        tables = self.rules.num_tables
        decks = engine.shuffle(self.rules, self.np_random, lanes * tables)
        return decks.reshape(lanes, tables, -1)

    def _cut(self, lanes: int) -> NDArray[np.intp]:
        return match.cut(self.rules, self.np_random, lanes)

    def _going(self) -> Play:
        if self._play is None:
            raise ResetNeeded("no episode has begun: call reset() first")
        return self._play

    def _read_options(self, options: dict[str, Any]) -> NDArray[np.intp] | None:
        """The lanes to reset; None for all."""
        for key in options:
            if key != "reset_mask":
                raise ValueError(f"options: {key!r} is unknown; there is reset_mask")
        if "reset_mask" not in options:
            return None
        mask = options["reset_mask"]
        shape = (self.num_envs,)
        if (
            not isinstance(mask, np.ndarray)
            or mask.shape != shape
            or mask.dtype != np.bool_
            or not mask.any()
        ):
            raise ValueError(
                f"options: reset_mask: must be an array of {self.num_envs} bools, not all False"
            )
        self._going()
        return mask.nonzero()[0]

    def _read_actions(self, chosen: Any) -> NDArray[np.intp]:
        played = np.asarray(chosen)
        if not self.check_actions:
            return played.astype(np.intp, copy=False)
        if played.shape != (self.num_envs,) or played.dtype.kind not in "iu":
            raise ValueError(
                f"actions of shape {played.shape} and type {played.dtype}: "
                f"must be {self.num_envs} whole numbers, one a lane"
            )
        played = played.astype(np.intp, copy=False)
        words = self._legal.words
        assert words is not None
        right = actions.contains(words, played)
        if not right.all():
            self._refuse(played, words, (~right).nonzero()[0])
        return played

    def _refuse(
        self, played: NDArray[np.intp], words: NDArray[np.uint64], wrong: NDArray[np.intp]
    ) -> None:
        lane = int(wrong[0])
        action = int(played[lane])
        word = f"{action}, which is no action id (0..{actions.NUM_ACTIONS - 1})"
        if 0 <= action < actions.NUM_ACTIONS:
            word = repr(actions.format(action))
        legal = actions.unpack(words[lane : lane + 1])[0].nonzero()[0].tolist()
        more = f" (and {len(wrong) - 1} more lanes)" if len(wrong) > 1 else ""
        raise ValueError(
            f"lane {lane}: player_{self._going().mover[lane]} cannot play {word}; "
            f"legal: {', '.join(map(actions.format, legal))}{more}"
        )


class _Acted:
    """Who acts in a step, and from which seat: looked up before it, for what is told after it."""

    def __init__(self, game: Play) -> None:
        self.hands = game.on_move
        """Lanes of the hands, [B]."""
        self.seat = game.hands.mover[self.hands]
        """[B]."""
        self.player = game.mover.copy()
        """[B]."""

    def view(self, game: Play, lanes: NDArray[np.intp]) -> observation.View:
        """What those who acted in these episodes know now."""
        hands = game.hands.take(self.hands[lanes])
        score = play.standing(game, self.player[lanes], lanes)
        return observation.view(hands, self.seat[lanes], score)


def _batched(single: spaces.Space[Any], lanes: int) -> spaces.Dict:
    """The space of so many observations side by side, its keys in the same order."""
    assert isinstance(single, spaces.Dict)
    parts = {name: batch_space(part, lanes) for name, part in single.items()}
    return spaces.Dict(OrderedDict(parts))  # of a plain dict Gymnasium sorts the keys


def _masked(told: dict[str, Any], mask: NDArray[np.bool_]) -> dict[str, Any]:
    """The same with Gymnasium's mask of the lanes that have it beside each entry."""
    return told | {f"_{name}": mask.copy() for name in told}
