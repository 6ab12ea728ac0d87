"""Dataset with batch_first, as the Keras notebook feeds it, and a picture of the predictions."""

import numpy as np

import neurogym as ngym
from neurogym.utils.plotting import fig_, visualize_run

dataset = ngym.Dataset("GoNogo-v0", env_kwargs={"dt": 100}, batch_size=4, seq_len=30, batch_first=True)
dataset.seed(3)
inputs, targets = next(iter(dataset))
assert inputs.shape == (4, 30, 3) and targets.shape == (4, 30)
one_hot = np.eye(2)[targets]
visualize_run(inputs[0], np.argmax(one_hot[0], -1), targets[0], fname="a.png")
fig_(inputs[0], targets[0], targets[0])
