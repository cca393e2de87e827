"""Write people.csv, the table that the README and ``bocce --help`` name: 400 invented people.

python examples/people.py examples/people.csv
"""

import sys

import numpy as np

NAMES = "age,distance,visits,count,member,income"


def people(n: int = 400, seed: int = 0) -> np.ndarray:
    """One row a person; `count` is how many such persons the row stands for."""
    draw = np.random.default_rng(seed)
    age = draw.integers(18, 80, n)
    distance = np.round(draw.exponential(5.0, n), 1)
    count = draw.integers(1, 4, n)
    member = draw.random(n) < 1 / (1 + np.exp(0.4 * distance - 0.02 * age))
    visits = draw.poisson(np.exp(0.3 + 0.8 * member - 0.05 * distance))
    income = np.round(900 + 22 * age + 300 * member + draw.normal(0, 250, n))
    return np.column_stack([age, distance, visits, count, member, income])


if __name__ == "__main__":
    np.savetxt(sys.argv[1], people(), fmt="%g", delimiter=",", header=NAMES, comments="")
