"""Numbers of a stretch of trials, in words and as curves."""

import numpy as np
import pytest

from ngym_cli.agents.defaults import prepare
from ngym_cli.agents.from_config import build_batch
from ngym_cli.config.model import from_dict
from ngym_cli.runs import summary
from ngym_cli.runs.trial_recorder import TrialRecorder


def _trials(rt, aborts):
    n = len(rt)
    return {
        "trial": np.arange(n),
        "performance": np.ones(n),
        "reward": np.zeros(n),
        "aborts": np.array(aborts),
        "outcome": np.full(n, "correct"),
        "rt": np.array(rt, float),
        "length_ms": np.full(n, 100.0),
    }


def test_fixation_breaks_stand_beside_the_performance_where_they_are_many():
    many, few = (summary.summarise(_trials([100.0] * 100, [1] * k + [0] * (100 - k))) for k in (100, 5))
    assert summary.breaks_beside(many) == "; fixation breaks in 100% of trials"
    assert summary.breaks_beside(few) == summary.breaks_beside({}) == ""


def test_there_is_no_curve_of_reaction_times_where_every_answer_comes_at_once():
    assert "responses/reaction_time_ms" not in summary.scalars(_trials([0.0] * 10, [0] * 10), [])
    assert summary.scalars(_trials([0.0, 20.0], [0, 0]), [])["responses/reaction_time_ms"] == 10


def test_a_condition_of_a_single_session_tells_nothing_of_others():
    table = {
        "env": np.repeat(np.arange(12), 50),
        "trial": np.arange(600),
        "linked": np.full(600, True),
        "performance": np.repeat(np.arange(12) % 2, 50).astype(float),
        "arm": np.repeat(np.arange(12) // 6, 50),
        "p": np.repeat(np.arange(12), 50),
    }
    by_session, by_arm = (summary.by_condition(table, [name]) for name in ("p", "arm"))
    assert all(row["performance_ci"] == (0.0, 1.0) for row in by_session)
    assert all(row["performance_ci"][1] - row["performance_ci"][0] > 0.5 for row in by_arm)


def _acted(settings, act, trials=12):
    """Return the trials of an agent whose action depends on the step of the trial alone."""
    config, properties = prepare(from_dict(settings))
    batch, recorder = build_batch(config, 3), TrialRecorder.of(None, config, properties, 3)
    batch.seed(0)
    batch.reset()
    step, count = np.zeros(3, int), 0
    while count < trials:
        batch.step(np.array([act(int(k)) for k in step]))
        recorder.add(batch.finished, 0)
        count += 0 if batch.finished is None else len(batch.finished["env"])
        step = np.where(batch.trial_ended, 0, step + 1)
    return recorder.collect()


TIMING = {"fixation": 200, "stimulus": 300, "delay": 100, "decision": 200}


@pytest.mark.parametrize("wrappers", ["", "noise:std_noise=0.1", "monitor"], ids=["arrays", "noise", "one by one"])
@pytest.mark.parametrize(
    ("act", "rate", "early"),
    [
        (lambda step: int(step >= 6), 0.0, 0.0),  # waits until the decision
        (lambda step: int(step >= 3), 0.0, 1.0),  # acts during the stimulus
        (lambda step: int(step == 1 or step >= 6), 1.0, 1.0),  # acts in the period of fixation
        (lambda step: 0, 0.0, 0.0),
    ],
)
def test_fixation_breaks_and_actions_before_the_decision_are_two_shares(wrappers, act, rate, early):
    table = _acted({"task": "RDM-v0", "timing": TIMING, "wrappers": wrappers}, act)
    breaks = summary.fixation_breaks(table)
    assert breaks == (rate, "fixation", early, "decision")
    words = f"{rate:.2%} of trials (in fixation); {early:.2%} act before decision"
    assert breaks.sentence() == words
    assert summary.scalars(table, [])["responses/early_action_rate"] == early


def test_a_table_without_first_actions_says_what_is_known():
    breaks = summary.fixation_breaks(_trials([100.0] * 4, [1, 0, 0, 0]))
    assert breaks.rate == 0.25 and np.isnan(breaks.early) and breaks.sentence() == "25.00% of trials"
    assert summary.breaks_of({"abort_rate": 0.25}).sentence() == "25.00% of trials"  # of earlier versions
    assert summary.breaks_of({}) is None


@pytest.mark.parametrize("task", ["Bandit-v0", "PatchLeaving-v0", "NBack-v0"])
def test_where_no_moment_of_the_answer_exists_nothing_is_early(task):
    """Answers count from the first step, or at no single moment: no period asks to wait."""
    breaks = summary.fixation_breaks(_acted({"task": task}, lambda step: 1))
    assert np.isnan(breaks.early) and breaks.periods == ""
