"""The compiled engine: the one update, with sums over rows by Numba kernels."""

from .engine import CompiledEngine, RuleEngine

__all__ = ["CompiledEngine", "RuleEngine"]
