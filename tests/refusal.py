"""How the tests of bad input ask: the error's kind, and its whole text."""

import re

import pytest


def refused(call, kind, message):
    """The error is of this very kind, and its text matches from end to end."""
    with pytest.raises(kind) as caught:
        call()
    assert type(caught.value) is kind
    text = str(caught.value)
    assert re.fullmatch(message, text), text
