"""The plane over a file: the same steps as in memory, and no more reads than said."""

from __future__ import annotations

import numpy as np
import pytest

import bocce
from bocce.engines.filescores import FileScores
from bocce.engines.fused import Looked
from bocce.engines.plane import Plane
from bocce.engines.scores import Scores
from helpers import accepted

N, D = 900, 6


@pytest.fixture
def pair(tmp_path, request):
    """The problem of a file in 9 blocks, and of the same rows in memory."""
    loss = getattr(request, "param", "logistic")
    rng = np.random.default_rng(1)
    X = rng.standard_normal((N, D)) * np.linspace(0.3, 1.5, D)
    y = accepted(bocce.losses.REGISTRY[loss](), N)
    file = bocce.data.write_blocks(tmp_path / "rows", (X, y), block_rows=100)
    stored = [file.read(i) for i in range(file.n_blocks)]
    whole = (np.concatenate(column) for column in zip(*stored))
    return bocce.Problem(file, None, loss, 1e-3), bocce.Problem(*whole, loss, 1e-3)


def reads_of(problem):
    """Count the blocks that are read from now on."""
    blocks, stream = [], problem.given.X.stream

    def counted(plan):
        for i, block in zip(named := list(plan), stream(named)):
            blocks.append(i)
            yield block

    problem.given.X.stream = counted
    return blocks


def arrays(answer):
    """What was seen, but for ``size``, a bound that depends on how rows are cut into blocks."""
    parts = (answer.value, answer.plane) if isinstance(answer, Looked) else (answer,)
    return [np.asarray(x) for x in parts]


ONE_SCORE = sorted(bocce.losses.REGISTRY.keys() - {"softmax"})  # its scores are a matrix


@pytest.mark.parametrize("pair", ONE_SCORE, indirect=True)
def test_scores_are_those_of_rows_in_memory(pair):
    rng = np.random.default_rng(0)
    w, d, c = rng.standard_normal(D), rng.standard_normal(D), np.array([0.3, -0.2])
    found = []
    for scores in (FileScores(pair[0], 1, ()), Scores(pair[1], 1, ())):
        seen = [scores.start(w), scores.gradient()]
        seen += [scores.aim(0, d), scores.aim(1, w), scores.gram(2)]
        scores.scale(1, 2.0)
        seen += [scores.move(c), scores.far, scores.gradient()]
        scores.keep(1, 0.5)
        seen += [scores.look(), scores.gradient(), scores.gram(2), scores.z, scores.U]
        found.append(np.concatenate([x.ravel() for one in seen for x in arrays(one)]))
    np.testing.assert_allclose(found[0], found[1], rtol=1e-10, atol=1e-12)


def test_a_look_reads_once_and_a_step_twice_or_in_a_metric_once(pair):
    """And the Hessian of a sample reads no more blocks than hold so many rows."""
    problem = pair[0]
    blocks = reads_of(problem)
    plane = Plane(problem, np.zeros(D), metric="identity")
    assert blocks == list(range(9))
    plane.step()
    assert len(blocks) == 3 * 9
    blocks.clear()
    plane = Plane(problem, np.zeros(D))
    plane.chooser.rows, blocks[:] = 150, []
    plane.chooser.lost = np.inf
    plane.step()
    assert len(blocks) == 2 + 9


def test_the_minimum_is_that_of_memory(pair):
    r = bocce.minimize(pair[0], "plane", tol=1e-9)
    assert r.status == "converged"
    np.testing.assert_allclose(r.w, pair[1].minimiser(), rtol=1e-7)


def test_a_run_that_was_stopped_goes_on_bit_for_bit(pair, tmp_path):
    path = tmp_path / "run"
    bocce.minimize(pair[0], "plane", tol=1e-9, checkpoint=path, callback=lambda now: now.k == 2)
    again = bocce.minimize(pair[0], "plane", tol=1e-9, checkpoint=path)
    whole = bocce.minimize(pair[0], "plane", tol=1e-9)
    np.testing.assert_array_equal(again.w, whole.w)
