"""bocce in benchopt's benchmarks of l2-regularised logistic regression and of ridge regression.

Both objectives are sums over the rows, sum_i loss_i(w) + lmbd/2 ||w||^2; bocce minimises their
mean, so l2 = lmbd/n. An intercept (ridge) is a column of ones without penalty. Everything that
depends on the data is done in `run`, so that it is timed: checks, constants, the plan.
"""

import numpy as np
from benchopt import BaseSolver
from scipy import sparse

import bocce


class Solver(BaseSolver):
    name = "bocce"
    sampling_strategy = "callback"  # with "tolerance" benchopt gives up early
    requirements = ["pip::bocce"]  # noqa: RUF012 - class attributes are benchopt's way
    parameters = {"method": ["auto"]}  # noqa: RUF012
    parameter_template = "{method}"

    def set_objective(self, X, y, lmbd, fit_intercept=None):
        self.kind = bocce.Logistic if fit_intercept is None else bocce.LeastSquares
        self.penalty = None
        if fit_intercept:
            ones = np.ones((X.shape[0], 1), dtype=X.dtype)
            stack = sparse.hstack if sparse.issparse(X) else np.hstack
            X = stack([X, ones])
            self.penalty = np.append(np.ones(X.shape[1] - 1), 0.0)
        self.X = sparse.csr_array(X) if sparse.issparse(X) else X
        self.y, self.lmbd = y, lmbd
        self.w = np.zeros(X.shape[1])

    def warm_up(self):
        self.run_once()  # compiles

    def run(self, callback):
        self.w = np.zeros(self.X.shape[1])
        n = self.X.shape[0]
        problem = self.kind(self.X, self.y, l2=self.lmbd / n, penalty=self.penalty)

        def look(progress):
            self.w = progress.w
            return not callback()

        options = {} if self.method == "plane" else {"record_every": "auto"}
        result = bocce.minimize(problem, self.method, tol=1e-12, callback=look, **options)
        self.w = result.w

    def get_result(self):
        return {"beta": self.w}
