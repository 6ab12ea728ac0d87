"""Development branch: activity of an LSTM recorded while it is evaluated."""

from neurogym.wrappers.components.probes.activation import ActivationProbe as same
from sb3_contrib import RecurrentPPO

import neurogym as ngym
from neurogym.wrappers.monitor import ActivationProbe, Monitor

env = Monitor(ngym.make("GoNogo-v0", dt=100, timing={"delay": 100}), verbose=False)
model = RecurrentPPO("MlpLstmPolicy", env, n_steps=32, batch_size=32, policy_kwargs={"lstm_hidden_size": 12})
model.learn(total_timesteps=32)
model.policy.set_training_mode(False)
probe = env.record_activations(model.policy.lstm_actor, "Actor net")
assert isinstance(probe, ActivationProbe) and ActivationProbe is same
env.evaluate_policy(num_trials=10, model=model, verbose=False)
assert len(probe.history["hidden"]) == 10
assert probe.history["hidden"][0].shape == (int(env.unwrapped.tmax / 100), 12)
figure, axes = env.plot_activations("Actor net", "hidden", neurons=[0, 1, 2], mean=True)
assert axes.size >= 3
