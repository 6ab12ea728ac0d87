"""Supervised scripts that change the environments of a Dataset and let it make its trials anew."""

import numpy as np
import neurogym as ngym

dataset = ngym.Dataset("PerceptualDecisionMaking-v0", env_kwargs={"dt": 100, "sigma": 0}, batch_size=4, seq_len=44)
dataset()
for env in dataset.envs:
    env.unwrapped.cohs = [80]
dataset._cache()
inputs, targets = dataset()
assert np.isclose(inputs[:, :, 1:].max(), 0.9)
dataset._cache(ground_truth=1)
inputs, targets = dataset()
assert set(np.unique(targets)) == {0, 2}
dataset.seed(3)
first = dataset()[0]
dataset.seed(3)
assert np.array_equal(first, dataset()[0])
many = [dataset()[1] for _ in range(20)]
assert set(np.unique(many)) == {0, 1, 2}
