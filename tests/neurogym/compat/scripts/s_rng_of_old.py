"""A script that seeds and replaces the generator in every way that ever worked."""

import numpy as np

import neurogym as ngym

env = ngym.make("PerceptualDecisionMaking-v0").unwrapped
env.rng = np.random.RandomState(3)
a = env.rng.randn(4)
env.rng = np.random.RandomState(3)
state = env.rng.get_state()
assert np.allclose(a, env.rng.randn(4))
env.rng.set_state(state)
assert np.allclose(a, env.rng.randn(4))
env.rng.seed(5)
b = env.rng.choice(10, 3)
env.rng.seed(5)
assert np.array_equal(b, env.rng.choice(10, 3))
env.seed(0)
env.reset()
first = [env.new_trial()["coh"] for _ in range(20)]
env.seed(0)
env.reset()
assert first == [env.new_trial()["coh"] for _ in range(20)]


class Early(ngym.TrialEnv):
    def __init__(self):
        super().__init__(dt=100)
        self.seed(4)
        self.start = self.rng.rand()
        self.observation_space = ngym.spaces.Box(0, 1, shape=(1,))
        self.action_space = ngym.spaces.Discrete(2)


assert Early().start == Early().start
