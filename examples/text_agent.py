"""A language model at the table: it reads the table as text and answers with a line of text.

A model is any function from text to text. The stand-in below needs no network; to let a language
model play, write a function that sends it the text and returns its answer, and pass that to play.
"""

import argparse
import random
from collections.abc import Callable

import gymnasium

from ginenv.text import TextGinRummy

MOST_REFUSALS = 3


def stand_in(text: str) -> str:
    """Think aloud, then choose one of the actions that are listed, or now and then nonsense."""
    listed = text.rpartition("Legal actions: ")[2].splitlines()[0].split(", ")
    knocks = [words for words in listed if words.startswith("knock")]
    chosen = random.choice(knocks or listed) if random.random() < 0.95 else "discard the worst"
    return f"I look at my cards.\n{chosen}"


def play(env: TextGinRummy, model: Callable[[str], str], seed: int) -> tuple[float, int]:
    """Play a hand: the points it pays, and how many answers were refused."""
    prompt, _ = env.reset(seed=seed)
    rules = prompt.partition("\n\n")[0]
    over, points, refused, in_turn = False, 0.0, 0, 0
    while not over:
        if in_turn < MOST_REFUSALS:
            answer = model(prompt).strip().rpartition("\n")[2]  # it may think before it answers
        else:
            answer = env.action_space.sample()  # a legal one
        try:
            table, reward, over, _, _ = env.step(answer)
        except ValueError as error:  # nothing has happened: show it what was wrong and ask again
            prompt, refused, in_turn = f"{prompt}\n\n{error}", refused + 1, in_turn + 1
        else:
            prompt, points, in_turn = f"{rules}\n\n{table}", points + float(reward), 0
    return points, refused


def main() -> None:
    """Play hands against random play, and print how the first begins."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--hands", type=int, default=100)
    random.seed(0)
    env = TextGinRummy(gymnasium.make("ginenv/GinRummy-v0", rules="classic", opponent="random"))
    print(env.reset(seed=0)[0], end="\n\n")
    played = [play(env, stand_in, seed) for seed in range(parser.parse_args().hands)]
    points, refused = (sum(column) for column in zip(*played, strict=True))
    print(f"{len(played)} hands: {points:+.0f} points, {refused} answers refused")


if __name__ == "__main__":
    main()
