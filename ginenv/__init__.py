"""Gin Rummy for reinforcement learning: one batched rules engine and the environments on it."""

__version__ = "0.1.0"


def _register() -> None:
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


_register()
