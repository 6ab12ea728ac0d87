"""Supervised notebook: Dataset, an LSTM, a short loop, evaluation trial by trial."""

import numpy as np
import torch
import torch.nn as nn

import neurogym as ngym

torch.manual_seed(0)
kwargs = {"dt": 100, "timing": {"fixation": 100, "stimulus": 300, "delay": 0, "decision": 100}}
dataset = ngym.Dataset("PerceptualDecisionMaking-v0", env_kwargs=kwargs, batch_size=16, seq_len=50)
env = dataset.env
ob_size, act_size = env.observation_space.shape[0], env.action_space.n


class Net(nn.Module):
    def __init__(self, num_h):
        super().__init__()
        self.lstm = nn.LSTM(ob_size, num_h)
        self.linear = nn.Linear(num_h, act_size)

    def forward(self, x):
        out, hidden = self.lstm(x)
        return self.linear(out), out


net = Net(16)
criterion, optimizer = nn.CrossEntropyLoss(), torch.optim.Adam(net.parameters(), lr=1e-2)
losses = []
for _ in range(15):
    inputs, labels = dataset()
    inputs = torch.from_numpy(inputs).type(torch.float)
    labels = torch.from_numpy(labels.flatten()).type(torch.long)
    optimizer.zero_grad()
    outputs, _ = net(inputs)
    loss = criterion(outputs.view(-1, act_size), labels)
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
assert losses[-1] < losses[0]
env.reset(no_step=True)
perf = 0
for i in range(20):
    env.new_trial()
    ob, gt = env.ob, env.gt
    ob = ob[:, np.newaxis, :]
    action_pred, _ = net(torch.from_numpy(ob).type(torch.float))
    perf += gt[-1] == np.argmax(action_pred.detach().numpy()[-1, 0, :])
assert env.trial["coh"] in env.cohs
