"""Gin Rummy for reinforcement learning: one batched rules engine and the environments on it."""

__version__ = "0.1.0"


def _register_pettingzoo() -> None:
    """Enter the environment in PettingZoo's registry, which older versions do not have.

    ``pettingzoo.make("aec", "ginenv/gin_rummy_v0")`` then makes it; nothing of it is imported
    before that.
    """
    try:
        from pettingzoo import aec_registry, register
    except ImportError:
        return
    if "ginenv/gin_rummy-v0" not in aec_registry:  # the registry's spelling of the same id
        register("aec", "ginenv/gin_rummy_v0", entry_point="ginenv.gin_rummy_v0:env")


def _register_gymnasium() -> None:
    """Enter the environments in Gymnasium's registry, likewise without importing them.

    ``gymnasium.make("ginenv/GinRummy-v0")`` makes one player's game against an opponent,
    ``gymnasium.make_vec`` of the same id many games of self-play.
    """
    try:
        from gymnasium.envs.registration import register, registry
    except ImportError:
        return
    if "ginenv/GinRummy-v0" not in registry:
        register(
            "ginenv/GinRummy-v0",
            entry_point="ginenv.gym_env:GinRummyEnv",
            vector_entry_point="ginenv.gym_vector:GinRummyVectorEnv",
            nondeterministic=True,  # an opponent can be
        )


_register_pettingzoo()
_register_gymnasium()
