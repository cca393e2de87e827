"""Data sets of the LIBSVM collection from a local folder (BOCCE_DATA), checked by bocce."""

import numpy as np
from benchopt import BaseDataset

import bocce


class Dataset(BaseDataset):
    name = "Local"
    parameters = {"set": ["ijcnn1.tr", "a9a", "w8a", "mushrooms"]}  # noqa: RUF012

    def get_data(self):
        X, y = bocce.data.load(self.set)
        classes = np.unique(y)
        if classes.size == 2:
            y = np.where(y == classes[1], 1.0, -1.0)
        return {"X": X, "y": y}
