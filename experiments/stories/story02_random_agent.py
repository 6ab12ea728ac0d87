"""Look at a task with a random agent."""

from common import arguments

import neurogym as ngym

chosen = arguments(__doc__)
env = ngym.make("GoNogo-v0")
ngym.plot_env(env, num_steps=100, ob_traces=["Fixation cue", "NoGo", "Go"], fname=chosen.out / "gonogo_random")
print("drawn:", chosen.out / "gonogo_random.png")
