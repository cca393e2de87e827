"""Readable twins of bocce.exact: every batch of a tiny problem, one after the other."""

from __future__ import annotations

from itertools import combinations

import numpy as np


def batches(n, b):
    return [list(rows) for rows in combinations(range(n), b)]


def enumerated_curve(p, schedule, b, w0):
    """error2, grad2, gap, bias2 as plain averages over all batch sequences.

    b is the batch of all steps, or a batch for each.
    """
    w_star = p.minimiser()
    sizes = np.broadcast_to(b, schedule.T)
    X = p.X.toarray() if p.sparse else np.asarray(p.X, dtype=np.float64)
    A = X.T @ X / p.n + p.l2 * np.eye(p.d)
    W = W_old = np.array([w0], dtype=np.float64)
    records = []
    for k in range(schedule.T + 1):
        E = W - w_star
        error2, grad2 = (E**2).sum(axis=1).mean(), ((E @ A) ** 2).sum(axis=1).mean()
        gap = 0.5 * np.einsum("ij,ij->i", E @ A, E).mean()
        records.append([error2, grad2, gap, (E.mean(axis=0) ** 2).sum()])
        if k < schedule.T:
            alpha, beta, theta = schedule.alpha[k], schedule.beta[k], schedule.theta[k]
            rows = batches(p.n, int(sizes[k]))
            hessians = [X[B].T @ X[B] / len(B) + p.l2 * np.eye(p.d) for B in rows]
            targets = [X[B].T @ p.y[B] / len(B) for B in rows]
            Y = W + theta * (W - W_old)
            step = W + beta * (W - W_old)
            W_next = [step - alpha * (Y @ H - t) for H, t in zip(hessians, targets)]
            W, W_old = np.vstack(W_next), np.vstack([W] * len(rows))
    return np.array(records).T


def enumerated_rate(p, alpha, beta, b, theta):
    """sqrt of the spectral radius of E[H_B (x) H_B], H_B the step of (w, w_prev) on batch B."""
    d, rows = p.d, batches(p.n, b)
    eye, operator = np.eye(d), np.zeros((4 * d * d, 4 * d * d))
    for B in rows:
        G = p.X[B].T @ p.X[B] / b + p.l2 * eye
        H = np.block(
            [
                [(1 + beta) * eye - alpha * (1 + theta) * G, -beta * eye + alpha * theta * G],
                [eye, np.zeros((d, d))],
            ]
        )
        operator += np.kron(H, H) / len(rows)
    return np.sqrt(np.abs(np.linalg.eigvals(operator)).max())
