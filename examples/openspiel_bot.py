"""OpenSpiel: a bot written for its interface (restart, step, inform_action) plays here.

It is handed OpenSpiel's own state, dealt the same deck and kept at the same point; as there, that
holds both hands. What a bot may do there and not here is counted, and a random action played.
"""

import numpy as np
import pyspiel
from common import settings, told

from ginenv import actions, cards, engine, gin_rummy_v0

GAME, SPIEL = pyspiel.load_game("gin_rummy"), pyspiel.gin_rummy
THEIRS = {card: "scdh".index(cards.name(card)[1]) * 13 + card % 13 for card in range(52)}
THEIRS |= {actions.STOCK: SPIEL.DRAW_STOCK_ACTION, actions.TAKE: SPIEL.DRAW_UPCARD_ACTION}
THEIRS |= {actions.PASS: SPIEL.PASS_ACTION}
OURS = {code: action for action, code in THEIRS.items()}


def ask(bot: pyspiel.Bot, state: pyspiel.State) -> int:
    """What the bot chooses, as an action of ours; there a knock and its discard are two."""
    if (code := bot.step(state)) != SPIEL.KNOCK_ACTION:
        return OURS[code]
    return actions.KNOCK + OURS[bot.step(state.child(code))]


def main() -> None:
    """Play hands: OpenSpiel's Gin Rummy bot is player_0, random play is player_1."""
    env = gin_rummy_v0.env(turn_limit=49)  # there a hand is dead at the fiftieth card taken
    bots = [pyspiel.make_simple_gin_rummy_bot(GAME.get_parameters(), seat) for seat in (0, 1)]
    points, replaced, rng = [], 0, np.random.default_rng(0)
    for dealer in [0, 1] * (settings(__doc__).hands // 2):
        deck = engine.shuffle(env.unwrapped.rules, rng, 1)[0].tolist()
        env.reset(options={"deck": deck, "dealer": dealer})
        state, bot = GAME.new_initial_state(), bots[1 - dealer]  # the non-dealer is its player 0
        bot.restart()
        for card in (*deck[0:20:2], *deck[1:20:2], deck[20]):  # ten at once to a player there
            state.apply_action(THEIRS[card])
        while not env.terminations["player_0"]:
            legal = env.observe(env.agent_selection)["action_mask"].nonzero()[0]
            asked = env.agent_selection == "player_0"
            action = ask(bot, state) if asked else rng.choice(legal)
            if action not in legal:
                replaced, action = replaced + 1, rng.choice(legal)
                bot.restart()  # what it meant to do next is off
            env.step(int(action))
            if action in THEIRS:  # all but knocks, which end the hand
                if not asked:
                    bot.inform_action(state, state.current_player(), THEIRS[action])
                state.apply_action(THEIRS[action])
                if state.is_chance_node():  # there the card of the stock is dealt only now
                    state.apply_action(THEIRS[deck[-state.stock_size()]])
        points.append(env.rewards["player_0"])
    print(f"{told(points)}; {replaced} choices replaced")


if __name__ == "__main__":
    main()
