"""Generation of sine waves whose frequency is cued."""

from __future__ import annotations

import numpy as np

from neurogym.envs.task import TaskInfo, Tracking, Trials, spaces, usual_arguments
from neurogym.parameters.arguments import AtLeastTwo, Count, Range


class SineGeneration(Tracking):
    """Produce on each of n outputs a sine wave of the frequency that the input of the same number asks for.

    The inputs are constant during a trial, from -1 (lowest frequency) to 1 (highest), and every wave begins at 0 and
    rises. The network has no input that oscillates: trained networks have a limit cycle for each frequency. An output
    is right within 0.25 of the target. Performance is the share of right outputs over the trial.

    Args:
        frequencies: Lowest and highest frequency (Hz).
        n_frequencies: Number of frequencies, equally spaced and drawn uniformly.
        n_waves: Number of independent waves.

    Raises:
        ValueError: If the frequencies are not above 0 and in order, or the highest has fewer than four steps a period.

    Source: Maheswaranathan, Williams, Golub, Ganguli & Sussillo 2019, who asked for one wave.
    """

    metadata = TaskInfo(
        doi="10.48550/arXiv.1907.08549",
        tags=["timing", "continuous action space", "supervised"],
        necessary=("frequency",),
        small={"n_frequencies": 5},
        supervised="networks are trained on the wave that the output should have (Maheswaranathan et al. 2019, "
        "10.48550/arXiv.1907.08549)",
    )
    default_timing = {"wave": 2000}
    tolerance = 0.25

    @usual_arguments(dt=20, abort=False)
    def __init__(
        self, frequencies: tuple[float, float] = (0.5, 2.0), n_frequencies: AtLeastTwo = 51, n_waves: Count = 1
    ):
        low, high = frequencies
        Range(0, 250 / self.dt, above=True, size=2).check("frequencies (Hz; four steps a period)", frequencies)
        if low >= high:
            raise ValueError(f"frequencies must be in order, got {frequencies!r}")
        self.frequencies, self.n_waves = (float(low), float(high)), int(n_waves)
        self.conditions = {f"cue{k}": np.linspace(-1, 1, n_frequencies) for k in range(self.n_waves)}
        waves = range(self.n_waves)
        self.observation_space = spaces.channels({"frequency": waves}, -1, 1)
        self.action_space = spaces.channels({"wave": waves}, -1, 1)

    def _new_trials(self, trials: Trials) -> None:
        cue = np.stack([trials.draw(name) for name in self.conditions], axis=1)
        low, high = self.frequencies
        hertz = low + (high - low) * (cue + 1) / 2
        trials.info.update({f"frequency{k}": hertz[:, k] for k in range(self.n_waves)})
        trials.add_ob(cue, where="frequency")
        trials.set_groundtruth(lambda rows: np.sin(2 * np.pi * hertz[rows.trial] * rows.step[:, None] * self.dt / 1000))
        trials.go, trials.go_period = trials.starts["wave"], "wave"
