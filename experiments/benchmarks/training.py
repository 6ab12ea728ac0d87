"""Steps a second of the processor in training, task by task, and what part of it goes into environments.

    OMP_NUM_THREADS=1 python -m experiments.benchmarks.training [TASK ...] [--wrappers pass_reward,...] [--rollouts 4]

`recurrent_ppo` with its defaults (an LSTM of 64 units; image tasks see through a convolutional front end). Seconds of
the processor are counted, so that other programs matter less; `environment` is the share of the step and what adapts it
to Stable-Baselines3, `wait` what a step of the environment takes (us).
"""

from __future__ import annotations

import argparse
import time
from typing import Any

from neurogym.envs.registration import every_task
from neurogym.vector import TrialVectorEnv
from ngym_cli.agents.defaults import complete, resolve
from ngym_cli.agents.from_config import build_model, build_venv
from ngym_cli.config import from_dict


def built(task: str, wrappers: str = "", alg: str = "recurrent_ppo", **settings: Any) -> tuple[Any, Any]:
    """A learner with the defaults of the task, and its environments."""
    run_settings = {
        "task": task,
        "alg": alg,
        "timesteps": 400_000,
        **({"wrappers": wrappers} if wrappers else {}),
        **settings,
    }
    config, facts = resolve(from_dict(run_settings))
    config = complete(config, facts)
    venv = build_venv(config, int(config.n_envs or 1))
    model = build_model(config, venv)
    venv.seed(0)
    return model, venv


def measure(model: Any, rollouts: int) -> dict[str, float]:
    """Steps a second of the processor, the share of environments, and such seconds that one of their steps takes."""
    env, spent = model.env, [0.0]
    original = env.step

    def step(actions: Any) -> Any:
        began = time.process_time()
        output = original(actions)
        spent[0] += time.process_time() - began
        return output

    size = model.n_envs * getattr(model, "n_steps", 128)
    model.learn(size)  # blocks of trials are small at first
    env.step, began = step, time.process_time()
    model.learn(rollouts * size, reset_num_timesteps=False)
    total, steps = time.process_time() - began, rollouts * size
    return {"speed": steps / total, "share": spent[0] / total, "step": spent[0] / steps}


def main() -> None:
    """Print a line for each task."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("tasks", nargs="*")
    parser.add_argument("--wrappers", default="")
    parser.add_argument("--alg", default="recurrent_ppo")
    parser.add_argument("--rollouts", type=int, default=4)
    arguments = parser.parse_args()
    print(f"{'task':44} {'steps/s':>9} {'environment':>12} {'a step (us)':>12}  path")
    for id_ in arguments.tasks or every_task():
        model, venv = built(id_, arguments.wrappers, arguments.alg)
        rates = measure(model, arguments.rollouts)
        path = "array" if isinstance(venv.unwrapped.venv, TrialVectorEnv) else "loop"
        print(f"{id_:44} {rates['speed']:9,.0f} {rates['share']:12.0%} {1e6 * rates['step']:12.2f}  {path}", flush=True)


if __name__ == "__main__":
    main()
