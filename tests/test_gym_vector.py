"""The vector environment: lane by lane the PettingZoo environment, and Gymnasium's contract."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.error import ResetNeeded
from gymnasium.vector import AutoresetMode
from gymnasium.wrappers.vector import DictInfoToList, RecordEpisodeStatistics

import ginenv  # noqa: F401 - registers
from ginenv import actions, gin_rummy_v0, gym_vector, match, observation
from ginenv.gym_vector import GinRummyVectorEnv
from ginenv.rules import PRESETS, preset

# Games of this deck are short: hands of four cards, nearly all of which may knock at once.
SHORT = {"num_ranks": 7, "num_suits": 3, "hand_size": 4, "stock_floor": 1, "target": 8}
SEATINGS = ["classic", "hollywood", "cutthroat", "partnership"]
EPISODES = ["hand", "game", "match"]


def make(lanes: int, rules: str, episode: str, **fields: Any) -> GinRummyVectorEnv:
    if episode == "match":
        fields["best_of"] = 3
    return GinRummyVectorEnv(lanes, rules, episode, **{**SHORT, **fields})


def choose(masks: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A legal action in each lane, a knock more often than not."""
    weights = rng.random(masks.shape)
    weights[:, actions.KNOCK : actions.STOCK] += 0.5
    return np.where(masks, weights, -1).argmax(axis=1)


def run(envs: Any, steps: int, seed: int, act: Callable[..., Any] = choose) -> list[Any]:
    """Everything that a reset and so many steps return, actions among it."""
    rng = np.random.default_rng(seed)
    told: list[Any] = [envs.reset(seed=seed)]
    for _ in range(steps):
        played = act(told[-1][0]["action_mask"], rng)
        told.append((*envs.step(played), played))
    return told


def same(one: Any, other: Any) -> bool:
    """Whether nests of dicts and arrays, objects among them, are equal."""
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list | tuple) or (isinstance(one, np.ndarray) and one.dtype == object):
        return len(one) == len(other) and all(map(same, one, other))
    return bool(np.all(one == other)) and type(one) is type(other)


# Lane by lane the PettingZoo environment.


class Lane:
    """One lane beside ``raw_env``, which is given the same actions."""

    def __init__(self, raw: Any, lane: int) -> None:
        self.raw, self.lane = raw, lane
        self.paid = np.zeros(raw.rules.num_players)
        self.ends = 0

    def compare(self, observations: dict[str, np.ndarray], infos: dict[str, Any]) -> None:
        told = self.raw.observe(self.raw.agent_selection)
        for key, part in told.items():
            assert (observations[key][self.lane] == part).all()
            assert observations[key].dtype == part.dtype
        assert f"player_{infos['mover'][self.lane]}" == self.raw.agent_selection

    def step(self, step: Any, reset: Callable[[], None]) -> None:
        """What the step says of this lane is what ``raw_env`` says; it is reset at its end."""
        observations, rewards, terminations, truncations, infos, played = step
        raw, lane = self.raw, self.lane
        acted = raw.agent_selection
        raw.step(int(played[lane]))
        paid = [raw.rewards[agent] for agent in raw.possible_agents]
        self.paid += paid
        assert infos["rewards"][lane].tolist() == paid
        assert rewards[lane] == raw.rewards[acted]
        assert not truncations[lane]
        assert terminations[lane] == raw.terminations[acted]
        if terminations[lane]:
            self.end(acted, infos)
            reset()
        else:
            assert not infos.get("_payoffs", np.zeros(lane + 1))[lane]
        self.compare(observations, infos)

    def end(self, acted: str, infos: dict[str, Any]) -> None:
        lane, final = self.lane, infos["final_info"]
        for name in ("payoffs", "final_obs", "final_info"):
            assert infos[f"_{name}"][lane]
        assert infos["payoffs"][lane].tolist() == self.paid.tolist()
        assert sum(self.paid) == 0
        assert same(infos["final_obs"][lane], self.raw.observe(acted))
        assert f"player_{final['mover'][lane]}" == acted
        assert final["payoffs"][lane].tolist() == self.paid.tolist()
        assert final["rewards"][lane].tolist() == infos["rewards"][lane].tolist()
        side = final["winner"][lane]
        sheet = self.raw.infos[acted].get("score_sheet")
        if sheet is not None and self.raw.episode == "game":
            assert side == sheet["winner"]
        self.paid[:] = 0
        self.ends += 1


@pytest.mark.parametrize("reward", ["points", "win"])
@pytest.mark.parametrize("episode", EPISODES)
@pytest.mark.parametrize("rules", SEATINGS)
def test_one_lane_is_what_the_same_seed_is_in_pettingzoo(
    rules: str, episode: str, reward: str
) -> None:
    envs = make(1, rules, episode, reward=reward, big_gin_bonus=31, last_discard="may_knock")
    raw = gin_rummy_v0.raw_env(envs.rules, reward, None, episode)
    told = run(envs, 200, seed=3)
    raw.reset(seed=3)
    lane = Lane(raw, 0)
    lane.compare(*told[0])
    for step in told[1:]:
        lane.step(step, raw.reset)
    assert lane.ends


class NoCut:
    """Of the two who are last in a game of three, the one with the higher number deals."""

    def permuted(self, lots: np.ndarray, axis: int) -> np.ndarray:
        return lots


@pytest.mark.parametrize("episode", EPISODES)
@pytest.mark.parametrize("rules", SEATINGS)
def test_each_of_many_lanes_is_what_its_decks_are_in_pettingzoo(
    rules: str, episode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The decks that the lanes are dealt are written down, and ``raw_env`` is dealt the same."""
    real_next_game = match.next_game
    monkeypatch.setattr(
        match, "next_game", lambda sheets, lanes, _: real_next_game(sheets, lanes, NoCut())
    )
    recording = pytest.MonkeyPatch()
    lanes = 4
    decks: list[list[Any]] = [[] for _ in range(lanes)]
    dealers: list[list[int]] = [[] for _ in range(lanes)]

    def wrap(name: str) -> None:
        real = getattr(gym_vector.play, name)

        def dealt(*given: Any) -> Any:
            first = name == "start"
            at = range(lanes) if first else given[1].tolist()
            for lane, hands in zip(at, given[2], strict=True):
                if name != "deal":
                    decks[lane].append([])
                decks[lane][-1].extend(hands)
            if name != "deal":
                for lane, dealer in zip(at, given[3].tolist(), strict=True):
                    dealers[lane].append(dealer)
            return real(*given)

        recording.setattr(gym_vector.play, name, dealt)

    envs = make(lanes, rules, episode)
    for name in ("start", "restart", "deal"):
        wrap(name)
    told = run(envs, 120, seed=5)
    recording.undo()
    ends = 0
    for number in range(lanes):
        raw = gin_rummy_v0.raw_env(envs.rules, "points", None, episode)
        games = iter(zip(decks[number], dealers[number], strict=True))

        def reset(raw: Any = raw, games: Any = games) -> None:
            of_game, dealer = next(games)
            raw.reset(options={"decks": of_game, "dealer": dealer})

        reset()
        lane = Lane(raw, number)
        lane.compare(*told[0])
        for step in told[1:]:
            lane.step(step, reset)
        ends += lane.ends
    assert ends


@pytest.mark.parametrize("rules", PRESETS)
def test_every_preset_plays_whole_hands(rules: str) -> None:
    envs, raw = GinRummyVectorEnv(1, rules), gin_rummy_v0.raw_env(rules)
    assert envs.rules == preset(rules)
    raw.reset(seed=1)
    lane = Lane(raw, 0)
    for step in run(envs, 100, seed=1)[1:]:
        lane.step(step, raw.reset)


# Gymnasium's contract.


@pytest.mark.parametrize("episode", EPISODES)
@pytest.mark.parametrize("rules", SEATINGS)
def test_observations_are_in_the_spaces(rules: str, episode: str) -> None:
    envs = make(4, rules, episode)
    size = observation.SIZE if episode == "hand" else observation.GAME_SIZE
    parts = {"observation": (255, size, np.uint8), "action_mask": (1, 108, np.int8)}
    for name, (high, width, dtype) in parts.items():
        single, batched = envs.single_observation_space[name], envs.observation_space[name]
        assert single == spaces.Box(0, high, (width,), dtype)
        assert batched == spaces.Box(0, high, (4, width), dtype)
    assert list(envs.observation_space.keys()) == list(parts)
    assert envs.single_action_space == spaces.Discrete(108)
    assert envs.action_space == spaces.MultiDiscrete([108] * 4)
    for observations, *_ in run(envs, 20, seed=1):
        assert list(observations) == list(parts)
        assert observations in envs.observation_space
        for part in observations.values():
            assert part.flags.owndata or part.base is not envs._legal.words


def test_the_returned_arrays_are_no_longer_the_environments() -> None:
    envs, other = make(6, "classic", "game"), make(6, "classic", "game")

    def spoil(value: Any) -> None:
        if isinstance(value, dict):
            for part in value.values():
                spoil(part)
        elif isinstance(value, np.ndarray) and value.dtype != object:
            value[...] = 1

    rng = np.random.default_rng(1)
    told, clean = envs.reset(seed=1), other.reset(seed=1)
    for _ in range(80):
        chosen = choose(clean[0]["action_mask"], rng)
        for part in told:
            spoil(part)
        told, clean = envs.step(chosen), other.step(chosen)
        assert same(told, clean)


def test_infos_have_gymnasiums_shape_and_only_when_an_episode_ends() -> None:
    envs = make(5, "cutthroat", "hand")
    assert envs.metadata["autoreset_mode"] is AutoresetMode.SAME_STEP
    first, *steps = run(envs, 80, seed=2)
    assert list(first[1]) == ["mover", "_mover"]
    ended = 0
    for _, rewards, terminations, truncations, infos, _ in steps:
        assert infos["mover"].shape == (5,)
        assert infos["rewards"].shape == (5, 3)
        assert infos["_mover"].tolist() == infos["_rewards"].tolist() == [True] * 5
        assert rewards.dtype == infos["rewards"].dtype == np.float64
        assert terminations.dtype == truncations.dtype == np.bool_
        assert not truncations.any()
        if not terminations.any():
            assert infos.keys() == {"mover", "_mover", "rewards", "_rewards"}
            continue
        ended += 1
        for name in ("payoffs", "final_obs", "final_info"):
            assert infos[f"_{name}"].tolist() == terminations.tolist()
        assert not infos["payoffs"][~terminations].any()
        assert infos["final_obs"].dtype == object
        for final, over in zip(infos["final_obs"], terminations, strict=True):
            assert (final in envs.single_observation_space) if over else final is None
        for name, part in infos["final_info"].items():
            assert part.shape[0] == 5
            if not name.startswith("_"):
                assert infos["final_info"][f"_{name}"].tolist() == terminations.tolist()
    assert ended > 5


def test_final_observations_can_be_left_out() -> None:
    with_them = run(make(5, "classic", "game"), 90, seed=2)
    without = run(make(5, "classic", "game", final_obs=False), 90, seed=2)
    for step, short in zip(with_them, without, strict=True):
        infos = step[-2] if len(step) > 2 else step[-1]
        for name in ("final_obs", "final_info"):
            infos.pop(name, None)
            infos.pop(f"_{name}", None)
        assert same(step, short)


def test_a_lane_goes_on_with_a_new_episode_in_the_step_that_ends_one() -> None:
    envs = GinRummyVectorEnv(3, first_dealer=1, **SHORT)
    hand = observation.LAYOUT["hand"]
    for observations, _, terminations, _, infos, _ in run(envs, 60, seed=4)[1:]:
        fresh = observations["observation"][terminations]
        # The non-dealer has his first choice of a hand.
        assert (fresh[:, observation.LAYOUT["phase_offer"]] == 1).all()
        assert (fresh[:, observation.LAYOUT["turn"]] == 0).all()
        assert (fresh[:, hand].sum(axis=1) == 4).all()
        assert (infos["mover"][terminations] == 0).all()
        legal = observations["action_mask"][terminations]
        assert (legal.nonzero()[1].reshape(-1, 2) == [actions.TAKE, actions.PASS]).all()


@pytest.mark.parametrize("episode", EPISODES)
@pytest.mark.parametrize("rules", SEATINGS)
def test_payoffs_are_the_sum_of_the_rewards_and_sum_to_zero(rules: str, episode: str) -> None:
    envs = make(6, rules, episode, reward="points" if episode != "hand" else "win")
    total = np.zeros((6, envs.rules.num_players))
    for _, rewards, terminations, _, infos, _ in run(envs, 100, seed=6)[1:]:
        total += infos["rewards"]
        np.testing.assert_array_equal(infos["rewards"].sum(axis=1), 0)
        assert (np.abs(rewards) <= np.abs(infos["rewards"]).max(axis=1)).all()
        if terminations.any():
            np.testing.assert_array_equal(infos["payoffs"][terminations], total[terminations])
            total[terminations] = 0


# Resets.


@pytest.mark.parametrize("episode", EPISODES)
@pytest.mark.parametrize("rules", SEATINGS)
def test_a_reset_in_the_middle_leaves_nothing_behind(rules: str, episode: str) -> None:
    used, fresh = make(5, rules, episode), make(5, rules, episode)
    run(used, 63, seed=8)
    assert same(run(used, 50, seed=9), run(fresh, 50, seed=9))


def test_seeds_reproduce_and_differ() -> None:
    one, other = make(4, "classic", "game"), make(4, "classic", "game")
    assert same(run(one, 90, seed=1), run(other, 90, seed=1))
    assert not same(one.reset(seed=1), one.reset(seed=2))
    assert not same(one.reset(), one.reset())
    one.reset(seed=5)
    other.reset(seed=5)
    assert same(one.reset(), other.reset())
    assert one.np_random_seed == 5


@pytest.mark.parametrize("rules", SEATINGS)
def test_a_mask_resets_these_lanes_only(rules: str) -> None:
    envs = make(4, rules, "game")
    before = run(envs, 41, seed=1)[-1]
    mask = np.array([True, False, True, False])
    options = {"reset_mask": mask}
    observations, infos = envs.reset(options=options)
    assert options["reset_mask"] is mask  # wrappers look for it afterwards
    for key, part in observations.items():
        np.testing.assert_array_equal(part[~mask], before[0][key][~mask])
    np.testing.assert_array_equal(infos["mover"][~mask], before[4]["mover"][~mask])
    rounds, turn = observation.GAME_LAYOUT["rounds"], observation.GAME_LAYOUT["turn"]
    assert not observations["observation"][mask][:, rounds].any()
    assert not observations["observation"][mask][:, turn].any()
    total = np.where(mask[:, None], 0.0, envs._play.paid)
    rng = np.random.default_rng(1)
    for _ in range(90):
        observations, _, ends, _, infos = envs.step(choose(observations["action_mask"], rng))
        total += infos["rewards"]
        if ends.any():
            np.testing.assert_array_equal(infos["payoffs"][ends], total[ends])
            total[ends] = 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"deck": "As"}, "'deck' is unknown; there is reset_mask"),
        ({"reset_mask": [True, False]}, "reset_mask: must be an array of 2 bools"),
        ({"reset_mask": np.ones(3, np.bool_)}, "reset_mask: must be an array of 2 bools"),
        ({"reset_mask": np.zeros(2, np.bool_)}, "reset_mask: .* not all False"),
        ({"reset_mask": np.ones(2, np.int8)}, "reset_mask: must be an array of 2 bools"),
    ],
)
def test_a_wrong_option_is_named_and_changes_nothing(options: Any, message: str) -> None:
    envs = make(2, "classic", "hand")
    envs.reset(seed=1)
    before = pickle.dumps(envs)
    with pytest.raises(ValueError, match=f"options: {message}"):
        envs.reset(seed=2, options=options)
    assert pickle.dumps(envs) == before


def test_nothing_goes_before_the_first_reset() -> None:
    envs = make(2, "classic", "hand")
    with pytest.raises(ResetNeeded, match=r"call reset\(\) first"):
        envs.step([105, 105])
    with pytest.raises(ResetNeeded, match=r"call reset\(\) first"):
        envs.reset(options={"reset_mask": np.array([True, False])})


# Actions.


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({1: 3}, "lane 1: player_[01] cannot play 'discard 4c'; legal: take, pass$"),
        ({1: 3, 2: 4}, "lane 1: .* \\(and 1 more lanes\\)$"),
        ({0: 108}, "lane 0: player_. cannot play 108, which is no action id"),
        ({2: -1}, "lane 2: player_. cannot play -1, which is no action id"),
    ],
)
def test_an_illegal_action_is_named_and_changes_nothing(
    change: dict[int, int], message: str
) -> None:
    envs = GinRummyVectorEnv(3)
    envs.reset(seed=1)
    before = pickle.dumps(envs)
    chosen = [actions.TAKE] * 3
    for lane, action in change.items():
        chosen[lane] = action
    with pytest.raises(ValueError, match=message):
        envs.step(chosen)
    assert pickle.dumps(envs) == before
    envs.step([actions.TAKE] * 3)


@pytest.mark.parametrize(
    "given", [[105], 105, [[105, 105]], [105.0, 105.0], ["take", "take"], None]
)
def test_what_are_no_actions_is_an_error(given: Any) -> None:
    envs = GinRummyVectorEnv(2)
    envs.reset(seed=1)
    with pytest.raises(ValueError, match="must be 2 whole numbers, one a lane"):
        envs.step(given)


def test_without_the_check_legal_actions_do_the_same() -> None:
    checked, unchecked = make(4, "classic", "game"), make(4, "classic", "game", check_actions=False)
    assert same(run(checked, 100, seed=1), run(unchecked, 100, seed=1))


def test_samples_are_legal_uniform_and_seeded() -> None:
    envs = make(64, "classic", "hand")
    assert envs.action_space.sample() in envs.action_space  # before the first reset
    observations, _ = envs.reset(seed=1)
    envs.action_space.seed(1)
    drawn = [envs.action_space.sample() for _ in range(100)]
    envs.action_space.seed(1)
    assert same(drawn, [envs.action_space.sample() for _ in range(100)])
    assert all(part in envs.action_space for part in drawn)
    values, counts = np.unique(drawn, return_counts=True)
    assert values.tolist() == [actions.TAKE, actions.PASS]
    assert counts.min() > 2_900
    masks = tuple(observations["action_mask"])
    assert set(np.unique(envs.action_space.sample(mask=masks))) <= {actions.TAKE, actions.PASS}
    for _ in range(60):
        envs.step(envs.action_space.sample())


# Arguments, copies, registry, wrappers.


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"num_envs": 0}, "num_envs=0: must be a whole number, at least 1"),
        ({"num_envs": 2.0}, "num_envs=2.0: must be a whole number"),
        ({"rules": "classsic"}, "rules='classsic': there is no such preset; did you mean"),
        ({"knok_limit": 3}, "knok_limit: there is no such rule; did you mean 'knock_limit'"),
        ({"episode": "set"}, "episode='set': must be 'hand' or 'game' or 'match'"),
        ({"reward": "chips"}, "reward='chips': must be 'points' or 'win'"),
        ({"render_mode": "ansi"}, "render_mode='ansi': must be None"),
        ({"opponent": "random"}, "opponent: this vector environment plays all seats"),
        ({"player": 1}, "player: this vector environment plays all seats"),
    ],
)
def test_a_wrong_argument_is_named(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        GinRummyVectorEnv(**arguments)


@pytest.mark.parametrize(
    "copied", [copy.deepcopy, lambda envs: pickle.loads(pickle.dumps(envs))], ids=["copy", "pickle"]
)
@pytest.mark.parametrize("rules", SEATINGS)
def test_a_copy_in_play_goes_on_by_itself(rules: str, copied: Callable[[Any], Any]) -> None:
    envs = make(3, rules, "game")
    last = run(envs, 77, seed=1)[-1]
    twin = copied(envs)
    results = []
    for each in (envs, twin):
        rng, told = np.random.default_rng(2), [last]
        for _ in range(60):
            told.append(each.step(choose(told[-1][0]["action_mask"], rng)))
        results.append(told)
    assert same(*results)


def test_gymnasium_makes_it_by_name() -> None:
    envs = gymnasium.make_vec(
        "ginenv/GinRummy-v0",
        num_envs=8,
        vectorization_mode="vector_entry_point",
        rules="oklahoma",
        episode="game",
        knock_limit=8,
    )
    assert type(envs) is GinRummyVectorEnv
    assert envs.num_envs == 8
    assert envs.rules == preset("oklahoma", knock_limit=8)
    assert envs.spec is not None
    assert str(envs) == "GinRummyVectorEnv(ginenv/GinRummy-v0, num_envs=8)"
    assert type(gymnasium.make_vec("ginenv/GinRummy-v0", num_envs=2)) is GinRummyVectorEnv
    run(envs, 20, seed=1)
    envs.close()
    envs.close()
    assert envs.closed


def test_episode_statistics_count_what_the_movers_were_paid() -> None:
    envs = RecordEpisodeStatistics(make(4, "classic", "game"))
    returns, lengths, ended = np.zeros(4), np.zeros(4), 0
    version = tuple(map(int, gymnasium.__version__.split(".")[:2]))
    for _, rewards, ends, _, infos, _ in run(envs, 200, seed=1)[1:]:
        returns += rewards
        lengths += 1
        if ends.any() and version >= (1, 4):  # those before it take no notice of SAME_STEP
            np.testing.assert_allclose(infos["episode"]["r"][ends], returns[ends])
            np.testing.assert_array_equal(infos["episode"]["l"][ends], lengths[ends])
            ended += ends.sum()
        returns[ends] = lengths[ends] = 0
    assert len(envs.return_queue) >= ended
    envs.reset(options={"reset_mask": np.array([True, False, False, True])})


def test_infos_can_be_made_a_list() -> None:
    envs = DictInfoToList(make(4, "classic", "hand"))
    plain = run(make(4, "classic", "hand"), 60, seed=1)
    for step, listed in zip(plain[1:], run(envs, 60, seed=1)[1:], strict=True):
        for lane, told in enumerate(listed[4]):
            assert told["mover"] == step[4]["mover"][lane]
            assert same(told["rewards"], step[4]["rewards"][lane])
            assert ("final_obs" in told) == ("payoffs" in told) == step[2][lane]
            if step[2][lane]:
                assert same(told["final_obs"], step[4]["final_obs"][lane])
                assert same(told["final_info"]["payoffs"], step[4]["payoffs"][lane])
