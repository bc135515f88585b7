"""The settings of a training run, with their meaning and their defaults."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from ginenv.rules import DECK_FIELDS, Rules, preset


@dataclass(frozen=True)
class NetworkConfig:
    """Size of a network."""

    width: int = 128
    """Features per suit."""
    layers: int = 3
    """Residual layers."""

    def __post_init__(self) -> None:
        if self.width < 1 or self.layers < 0:
            raise ValueError(
                f"width={self.width}, layers={self.layers}: must be at least 1 and at least 0"
            )


@dataclass(kw_only=True)
class PPOConfig:
    """All settings of a training run."""

    name: str = "run"
    """The run is written to runs/<name>."""
    rules: list[str] | str = field(default_factory=lambda: ["classic"])
    """Preset of the rules trained on, or a list of them, among which lanes are shared out."""
    rule_fields: dict[str, Any] = field(default_factory=dict)
    """Rules that differ from the presets, as a mapping."""
    start: str | None = None
    """A policy whose weights the run begins with: a name or a file, with networks of this size; a
    belief may be new."""
    episodes: list[Literal["hand", "game"]] = field(default_factory=lambda: ["hand", "game"])
    """hand: hands played singly, paid by their points; game: hands of games, paid by the change in
    the chance to win the game. Lanes are shared out among them; one named twice has two shares."""
    random_scores: float = 0.0
    """Share of the games that begin at totals drawn evenly below the target, with the boxes that go
    with them: scores near it are rare in games that begin at nothing."""
    seed: int = 0
    """Of the decks, the first weights, all choices and the order of minibatches."""
    decisions: int = 100_000_000
    """Decisions of both seats to train on, all in all. Temperature, learning rate and magnet run
    over this total: going on with a greater one raises them again."""
    ranks: int = 1
    """Processes that share the work; lanes and minibatch are divided among them. Under torchrun as
    many as it has started."""
    lanes: int = 1024
    """Hands played at once, by all ranks together."""
    steps: int = 64
    """Decisions on each lane between two updates."""
    minibatch: int = 4096
    """Decisions in a gradient step, of all ranks together."""
    opponents: list[str] = field(default_factory=list)
    """Agents that have one of the seats on some lanes; else the policy plays itself."""
    opponent_share: float = 0.5
    """Share of the lanes that opponents sit at, if there are any, each at as many; who is named
    twice at twice as many."""
    teacher: str | None = None
    """An agent that plays both seats at first; the policy learns to choose as he does."""
    teacher_decisions: int = 3_000_000
    """How long, if there is a teacher. Temperature and learning rate run over what follows."""
    playout_decisions: int | None = 0
    """After the teacher's lessons, if there are any, so many decisions are learnt from by playing
    out the likeliest actions of each position, null: all; what follows is PPO. Meanwhile the critic
    learns from equally many positions drawn from all, the opponents' included."""
    playout_depth: int = 0
    """Decisions after the action tried; then the critic is asked what the hand is worth: less luck
    and fewer decisions to play. 0: hands are played to their end."""
    teacher_rate: float = 5e-3
    """Adam's rate while the teacher plays; falls linearly to 5 % of it."""
    epochs: int = 2
    """Passes over the decisions of an iteration."""
    actor: NetworkConfig = field(default_factory=NetworkConfig)
    """Size of the policy's network."""
    belief: NetworkConfig | None = None
    """Size of a network of its own that says what the other hand may be, for the policy to read;
    null: the policy's network guesses it beside its choices."""
    critic: NetworkConfig = field(default_factory=NetworkConfig)
    """Size of the value's network."""
    learning_rate: float = 3e-4
    """Adam's at the start; falls linearly to 5 % of it."""
    trace: float = 0.9
    """Lambda of the advantages: how far they look beyond the critic's next word."""
    clip: float = 0.2
    """How far a probability ratio may leave 1 before it stops paying."""
    temperature_start: float = 0.5
    """Weight of the pull to the magnet at the start: in standard deviations of the advantage, or
    where actions are played out in units of reward. No pull while the teacher plays."""
    temperature_end: float = 0.025
    """The same at the end; linear between."""
    magnet_time: float = 0.1
    """Time constant of the magnet's average, as a share of the run."""
    old_weight: float = 0.1
    """Weight of the divergence from the policy that chose."""
    value_weight: float = 0.5
    """Weight of the critic's squared error."""
    guess_weight: float = 0.1
    """Weight of guessing the other hand: of the mean over its entries where the policy's network
    learns it beside, of their sum where it is all that a network learns."""
    max_gradient: float = 0.5
    """The gradients of each network are scaled down to this norm."""
    reward_scale: float = 20.0
    """Points that make a reward of 1: about their standard deviation a hand."""
    chance_scale: float = 0.2
    """Change in the chance to win the game that makes a reward of 1."""
    precision: Literal["auto", "float32", "bfloat16"] = "auto"
    """Of the networks: bfloat16 where the processor (or GPU) multiplies it, else float32."""
    device: Literal["cpu", "cuda"] = "cpu"
    """Where the networks are; the engine is on the processor always. Ranks take GPUs in turn."""
    workers: int = 0
    """Processes of each rank that play the engine on its lanes; with 0 the rank does so itself.
    Of use beside a GPU."""
    threads: int = 1
    """Torch's threads in each rank. On a busy machine two can be far slower than one."""
    evaluate_every: int = 5_000_000
    """Decisions between evaluations."""
    evaluate_deals: int = 100
    """Deals of an evaluation against each of the panel, each played twice; of games, where hands of
    games are trained on."""
    snapshot_seconds: float = 120.0
    """Seconds between snapshots of the training state."""

    def __post_init__(self) -> None:
        self.rules = [self.rules] if isinstance(self.rules, str) else self.rules
        for name in (
            *("decisions", "ranks", "lanes", "steps", "minibatch", "epochs", "threads"),
            *("learning_rate", "clip", "magnet_time", "max_gradient", "reward_scale"),
            *("chance_scale", "evaluate_every", "snapshot_seconds", "teacher_rate"),
        ):
            if getattr(self, name) <= 0:
                raise ValueError(f"{name}={getattr(self, name)}: must be greater than 0")
        for name in (
            *("seed", "teacher_decisions", "playout_decisions", "playout_depth"),
            *("temperature_start", "temperature_end", "old_weight", "value_weight"),
            *("guess_weight", "workers"),
        ):
            if (getattr(self, name) or 0) < 0:
                raise ValueError(f"{name}={getattr(self, name)}: must be 0 or more")
        for name in ("trace", "random_scores", "opponent_share"):
            if not 0 <= getattr(self, name) <= 1:
                raise ValueError(f"{name}={getattr(self, name)}: must be 0 to 1")
        if self.minibatch > self.lanes * self.steps:
            raise ValueError(
                f"minibatch={self.minibatch}: must be at most lanes x steps = "
                f"{self.lanes * self.steps}"
            )
        for name in ("lanes", "minibatch"):
            if getattr(self, name) % self.ranks:
                raise ValueError(
                    f"{name}={getattr(self, name)}: must be a multiple of ranks={self.ranks}"
                )
        groups = len(set(self.rules)) * len(set(self.episodes)) * (1 + len(set(self.opponents)))
        if not groups or self.lanes // self.ranks // max(self.workers, 1) < groups:
            raise ValueError(
                f"lanes={self.lanes}: must be at least one for each of the rules={self.rules} with "
                f"each of the episodes={self.episodes}, alone and with each of the "
                f"opponents={self.opponents}, on each of {self.ranks} ranks (and of its "
                f"{self.workers} workers), and there must be some"
            )
        if self.workers and (self.opponents or self.teacher):
            raise ValueError(
                f"workers={self.workers}: must be 0 with opponents or a teacher, who are asked "
                "where the networks are"
            )
        if self.evaluate_deals < 2:
            raise ValueError(f"evaluate_deals={self.evaluate_deals}: must be 2 or more")
        if self.workers and self.playout_decisions != 0:
            raise ValueError(
                f"workers={self.workers}: must be 0 where actions are played out, which is done "
                "where the networks are"
            )
        if not self.name or "/" in self.name or self.name.startswith("."):
            raise ValueError(f"name={self.name!r}: must be the name of a folder")
        self._check_rules(self.make_rules())

    def _check_rules(self, every: list[Rules]) -> None:
        decks = {tuple(getattr(rules, field) for field in DECK_FIELDS) for rules in every}
        if len(decks) > 1:
            raise ValueError(f"rules={self.rules}: all must be played with one deck")
        for name, rules in zip(self.rules, every, strict=True):
            if rules.seating != "heads_up":
                raise ValueError(f"rules={name}: hands are trained heads up")
            if rules.score_sheet != "single" and "game" in self.episodes:
                raise ValueError(
                    f"rules={name}: games are trained on a single score sheet; "
                    "episodes=[hand] trains its hands"
                )

    def make_rules(self) -> list[Rules]:
        """The rules trained on. Raises RulesError."""
        return [preset(name, **self.rule_fields) for name in self.rules]

    # What holds after some decisions of the run.

    def taught_at(self, decisions: int) -> bool:
        """Whether the teacher plays."""
        return self.teacher is not None and decisions < self.teacher_decisions

    def played_out_at(self, decisions: int) -> bool:
        """Whether actions are weighed by playing them out: after the lessons, before PPO."""
        start = self.teacher_decisions if self.teacher else 0
        many = self.decisions if self.playout_decisions is None else self.playout_decisions
        return start <= decisions < start + many

    def temperature_at(self, decisions: int) -> float:
        """Weight of the pull to the magnet."""
        span = self.temperature_end - self.temperature_start
        return self.temperature_start + span * self._part(decisions)

    def learning_rate_at(self, decisions: int) -> float:
        """Adam's rate."""
        rate = self.teacher_rate if self.taught_at(decisions) else self.learning_rate
        return rate * (1 - 0.95 * self._part(decisions))

    def _part(self, decisions: int) -> float:
        """How much is done of what the teacher teaches or, after it, of the rest."""
        start, end = 0, self.decisions
        if self.teacher is not None:
            lessons = min(self.teacher_decisions, end)
            start, end = (0, lessons) if self.taught_at(decisions) else (lessons, end)
        return min(1.0, (decisions - start) / max(end - start, 1))
