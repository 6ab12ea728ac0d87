"""What NeuroGym accepts in silence is warned of once, at the line of the script, or is an error where asked for."""

import warnings

import numpy as np
import pytest
from neurogym.utils.logging import logger

import neurogym as ngym
from neurogym.compat.leniency import LeniencyWarning, strictly
from neurogym.wrappers import Monitor, PassReward, TrialHistoryV2

RDM = "PerceptualDecisionMaking-v0"


def made():
    env = ngym.make(RDM)
    env.reset(seed=0)
    return env.unwrapped


FORGIVEN = {
    "period": (lambda: ngym.make(RDM, timing={"stimulis": 300}), "did you mean 'stimulus'"),
    "reward": (lambda: ngym.make(RDM, rewards={"corect": 1}), "did you mean 'correct'"),
    "condition": (lambda: made().new_trial(ground_trth=1), "did you mean 'ground_truth'"),
    "value": (lambda: made().new_trial(coh=33), "coh=33 is not drawn"),
    "setting": (lambda: ngym.Config(monitor={"intervall": 3}), "did you mean 'monitor.interval'"),
    "file": (lambda: Monitor(ngym.make(RDM), config="nowhere.toml"), "no such configuration file"),
    "no_step": (lambda: ngym.make(RDM).reset(no_step=True), "takes no step"),
    "step_fn": (lambda: PassReward(ngym.make(RDM)).reset(step_fn=None), "takes no step"),
    "argument": (lambda: Monitor(ngym.make(RDM), sv_per=10), "called 'interval' now"),
    "timing": (lambda: ngym.make("Bandit-v0", timing={"fixation": 100}), "no periods"),
}


@pytest.mark.parametrize("case", FORGIVEN)
def test_one_warning_and_an_error_where_that_is_asked_for(case, monkeypatch):
    act, message = FORGIVEN[case]
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        act()
        act()
    ours = [first for first in seen if issubclass(first.category, LeniencyWarning)]
    assert len(ours) == 1 and message in str(ours[0].message)
    assert ours[0].filename == __file__
    with strictly(), pytest.raises((ValueError, TypeError, OSError), match=message.replace("(", r"\(")):
        act()
    monkeypatch.setenv("NGYM_STRICT", "1")
    with pytest.raises((ValueError, TypeError, OSError)):
        act()


def test_what_never_existed_is_refused_everywhere():
    for wrong in (
        lambda: ngym.make(RDM).reset(nostep=True),
        lambda: ngym.make(RDM, no_such_argument=1),
        lambda: Monitor(ngym.make(RDM), no_such_argument=1),
        lambda: ngym.make("DelayMatchCategory-v0").unwrapped.new_trial(ground_truth="perhaps"),
        lambda: ngym.make(RDM).unwrapped.new_trial(ground_truth=7),
    ):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with pytest.raises((TypeError, ValueError)):
                wrong()


def test_unknown_periods_change_nothing_even_where_periods_are_listed():
    for task in ("yang19.go-v0", "yang19.dms-v0", "yang19.dlydm1-v0", "AngleReproduction-v0"):
        with pytest.warns(LeniencyWarning, match="'response'"):
            env = ngym.make(task, timing={"response": 500})
        usual = ngym.make(task)
        for each in (env, usual):
            each.reset(seed=1)
        assert env.unwrapped.end_t == usual.unwrapped.end_t


def test_a_condition_of_a_stack_is_warned_of_and_recorded():
    env = TrialHistoryV2(ngym.make(RDM), probs=[[0.9, 0.1], [0.1, 0.9]])
    env.reset(seed=0)
    with pytest.warns(LeniencyWarning, match="'foo'"):
        trial = env.new_trial(foo=3)
    assert trial["foo"] == 3


def test_the_logger_takes_colours(capsys):
    heard = []
    handler = type("Handler", (__import__("logging").Handler,), {"emit": lambda self, record: heard.append(record)})()
    logger.addHandler(handler)
    try:
        logger.info("plain", color="green", style="bold")
        logger.warning("with %d arguments", 2, color="no such colour")
    finally:
        logger.removeHandler(handler)
    assert [record.getMessage() for record in heard] == ["plain", "with 2 arguments"]
    assert heard[0].filename == "test_leniency.py"


def test_arrays_of_one_element_are_actions_in_a_stack():
    env = PassReward(ngym.make(RDM))
    env.reset(seed=0)
    ob, reward, *_ = env.step(np.array([1]))
    assert isinstance(reward, float) and ob.shape == (4,)
