"""Known observers are recovered: the intervals hold the truth as often as they say."""

import pytest

from experiments.coverage import NAMES, coverage

#: Rows whose experiments take longer; the record of coverage has them, and tests of the models recover most.
SLOW = (
    "covariate", "two_step_learner", "learner_with_times", "go_no_go", "optimal_cues", "vpp", "lba", "gain_loss",
    "kalman", "orl", "pvl_delta", "ewa", "fictive", "drifting_weight", "hidden_states", "two_rates", "diffusion",
    "drifting_weights_three_choices", "hidden_states_three_choices", "chronometric", "q_learning", "similar_geometries",
)  # fmt: skip


@pytest.mark.parametrize("observer", [name for name in NAMES if name not in SLOW])
def test_estimates_lie_near_the_truth(observer):
    for name, (covered, _, _) in coverage(observer, 6, seed=7, share=0.25).items():
        assert covered >= 0.5, name


@pytest.mark.long
@pytest.mark.parametrize("observer", NAMES)
def test_intervals_hold_the_truth_as_often_as_they_say(observer):
    for name, (covered, _, _) in coverage(observer, 200).items():
        assert 0.90 <= covered <= 0.99, name
