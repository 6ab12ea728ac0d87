"""Press a lever a number of times after a signal."""

from __future__ import annotations

import numpy as np

from neurogym.envs.task import Count, Rule, TaskInfo, TrialEnv, Trials, spaces

LONGEST_WAIT = 30  #: steps


class LeverPress(TrialEnv):
    """Wait for a signal, then press a lever ``n_press`` times without a pause.

    The signal comes with probability ``p_signal`` at each step and is shown for one step only; the presses have to be
    counted. Pressing before the signal is punished; a pause between presses ends the trial without a reward.

    Args:
        dt: Time step (ms).
        rewards: Replaces entries of ``default_rewards``.
        n_press: Presses needed, the first of them when the signal is shown.
        p_signal: Probability that a step of waiting is the last.

    Raises:
        ValueError: If ``n_press`` is less than 1 or ``p_signal`` is not a probability above 0.
    """

    metadata = TaskInfo(
        tags=["go-no-go", "motor", "working memory", "supervised"],
        description="wait for a signal, then press a lever a number of times",
        differences=["a trial lasts from the wait for a signal to the last press, or to the first pause"],
        necessary=("signal",),
    )
    default_rewards = {"abort": -1.0, "correct": 10.0, "fail": 0.0}
    rule = Rule(fixate=("wait",), answer=(), hold=0)

    def __init__(self, dt: float = 100, rewards: dict | None = None, n_press: Count = 4, p_signal: float = 0.5):
        super().__init__(dt=dt, rewards=rewards)
        if not 0 < p_signal <= 1:
            raise ValueError(f"p_signal must lie above 0 and not above 1, got {p_signal!r}")
        self.n_press, self.p_signal = n_press, p_signal
        self.conditions = {"wait": np.arange(1, LONGEST_WAIT + 1)}
        self.observation_space = spaces.Box(-1, 1, shape=(1,), dtype=np.float32, name={"signal": 0})
        self.action_space = spaces.Discrete(2, name={"wait": 0, "press": 1})

    @property
    def optimal_reward(self) -> float:
        """Average reward per step of the best policy."""
        return self.rewards["correct"] / (1 / self.p_signal + self.n_press)

    def _new_trials(self, trials: Trials) -> None:
        p = self.p_signal * (1 - self.p_signal) ** np.arange(LONGEST_WAIT)
        wait = trials.draw("wait", p=p / p.sum())
        trials.add_period(["wait", "press", "last"], [wait * self.dt, (self.n_press - 1) * self.dt, self.dt])
        signal = trials.ends["wait"]
        trials.go, trials.go_period = signal, "press"
        trials.add_ob(lambda rows: rows.step == signal[rows.trial], ["press", "last"], where="signal")
        trials.set_groundtruth(1, ["press", "last"])
        trials.set_action_reward(["press", "last"], 0, trials.reward("fail"))
        trials.set_action_reward("last", 1, trials.reward("correct"), performance=1.0)
