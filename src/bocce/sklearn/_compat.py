"""What scikit-learn 1.9 has and 1.6 has not, in one place."""

from __future__ import annotations

try:
    from sklearn.callback import CallbackSupportMixin
except ImportError:

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Stands in where scikit-learn has no callbacks."""


__all__ = ["CallbackSupportMixin"]
