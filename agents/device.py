"""Where the networks compute, and in which numbers."""

from __future__ import annotations

import torch


def find_device(name: str, rank: int) -> torch.device:
    """The processor, or a GPU, which ranks take in turn. Raises ValueError if there is none."""
    if name == "cpu":
        return torch.device("cpu")
    if not torch.cuda.is_available():
        raise ValueError(f"device={name}: torch finds none on this machine")
    return torch.device(name, rank % torch.cuda.device_count())


def find_dtype(precision: str, device: torch.device) -> torch.dtype:
    """``auto``: bfloat16 where there are instructions for its products."""
    if precision == "auto":
        on_gpu = device.type == "cuda"
        supported = torch.cuda.is_bf16_supported() if on_gpu else _processor_has_bfloat16()
        precision = "bfloat16" if supported else "float32"
    return torch.bfloat16 if precision == "bfloat16" else torch.float32


def _processor_has_bfloat16() -> bool:
    """As far as torch tells."""
    names = ("_is_avx512_bf16_supported", "_is_amx_tile_supported")
    return any(getattr(torch.cpu, name, lambda: False)() for name in names)
