"""The mean-square operator of the three-parameter update, built from the rows directly."""

import numpy as np


def mean_square_radius(X, l2, alpha, beta, theta, zeta0_squared):
    """The spectral radius of E[H_B (x) H_B] on pairs of states, built from the rows directly.

    H_B is affine in the batch Hessian, so E[H_B (x) H_B] = H (x) H + zeta0^2 Cov_i(H_i).
    """
    n, d = X.shape
    eye, zero = np.eye(d), np.zeros((d, d))

    def step_matrix(A):
        top = [(1 + beta) * eye - alpha * (1 + theta) * A, -beta * eye + alpha * theta * A]
        return np.block([top, [eye, zero]])

    rows = [step_matrix(np.outer(x, x) + l2 * eye) for x in X]
    mean = sum(rows) / n
    covariance = sum(np.kron(H, H) for H in rows) / n - np.kron(mean, mean)
    operator = np.kron(mean, mean) + zeta0_squared * covariance
    return np.abs(np.linalg.eigvals(operator)).max()


def constants(X, l2):
    eigenvalues = np.linalg.eigvalsh(X.T @ X / len(X) + l2 * np.eye(X.shape[1]))
    return {
        "L_max": float((X**2).sum(axis=1).max()) + l2,
        "mu": float(eigenvalues[0]),
        "lam_max": float(eigenvalues[-1]),
    }


def random_rows(seed, n=7, d=2, spread=1.0):
    rng = np.random.default_rng(seed)
    return (
        rng.standard_normal((n, d))
        * np.geomspace(1, 10, d)
        * np.exp(spread * rng.standard_normal((n, 1)))
    )
