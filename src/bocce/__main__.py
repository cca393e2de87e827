"""``python -m bocce`` is the command ``bocce``."""

from .cli import main

if __name__ == "__main__":
    main()
