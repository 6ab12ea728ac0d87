"""A task declares and has a session; NeuroGym's style is a subclass that only classes in that style get."""

import copy
import warnings

import gymnasium as gym
import numpy as np
import pytest

import neurogym as ngym
from neurogym.compat import trial_env
from neurogym.core import TrialEnv
from neurogym.engine.session import Session
from neurogym.envs.multi import ScheduleEnvs
from neurogym.envs.registration import every_task
from neurogym.trials import Trials

#: Members of NeuroGym's environments that scripts read, of a task that does not inherit them.
OLDER = ("t", "t_ind", "tmax", "start_ind", "end_t", "obs", "ob_now", "gt_now", "rng", "num_tr", "performance", "seed")
OLDER += ("add_ob", "view_ob", "view_groundtruth", "choices", "arguments", "trial_length_stats")


class Declared(TrialEnv):
    """A task of one step."""

    def __init__(self, dt=100):
        super().__init__(dt=dt)
        self.observation_space = ngym.spaces.Box(-1, 1, shape=(1,))
        self.action_space = ngym.spaces.Discrete(2)

    def _new_trials(self, trials: Trials) -> None:
        trials.add_period("decision", self.dt)
        trials.set_groundtruth(1, "decision")


def test_a_task_shows_what_an_author_or_a_user_needs():
    task = ngym.make("PerceptualDecisionMaking-v0").unwrapped
    names = [name for name in dir(task) if not name.startswith("_")]
    assert len(names) <= 45
    assert not set(OLDER) & set(names)
    for name in set(dir(TrialEnv)) - set(dir(gym.Env)):
        member = vars(TrialEnv).get(name)
        if not name.startswith("_") and (callable(member) or isinstance(member, property)):
            assert member.__doc__, name


@pytest.mark.parametrize("id_", every_task())
def test_at_most_two_classes_stand_between_a_task_and_its_base(id_):
    task = ngym.make(id_).unwrapped
    assert TrialEnv.__bases__ == (gym.Env,) and isinstance(task.session, Session)
    if not isinstance(task, trial_env.TrialEnv):
        kinds = type(task).__mro__
        assert kinds.index(TrialEnv) <= 4, kinds


@pytest.mark.parametrize("name", OLDER)
def test_older_names_are_found_on_a_task_that_declares(name):
    env = ngym.make("PerceptualDecisionMaking-v0")
    env.reset(seed=0)
    task = env.unwrapped
    assert not isinstance(task, trial_env.TrialEnv) and hasattr(task, name)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = task.nothing


def test_why_a_value_is_not_there_is_said():
    task = ngym.make("PerceptualDecisionMaking-v0").unwrapped
    task.reset(seed=0)
    task.session.cursor.block.has_gt = False
    with pytest.raises(AttributeError, match="has no ground truth"):
        _ = task.gt


def test_a_class_in_the_original_style_is_served_however_it_is_imported():
    class OneByOne(ngym.TrialEnv):
        def _new_trial(self, **kwargs):
            self.add_period("decision", self.dt)
            self.set_groundtruth(1)
            return {"number": self.num_tr}

        def _step(self, action):
            return self.ob_now, float(action == self.gt_now), False, False, {"new_trial": True}

    class Mixed(Declared):
        def _step(self, action):
            self.performance = float(action == self.gt_now)
            return self.ob_now, self.performance, False, False, {"new_trial": True}

    for cls in (OneByOne, Mixed):
        assert issubclass(cls, trial_env.TrialEnv) and issubclass(cls, TrialEnv)
    task = OneByOne()
    task.observation_space, task.action_space = Declared().observation_space, Declared().action_space
    for one in (task, Mixed()):
        one.reset(seed=0)
        *_, info = one.step(1)
        assert info["new_trial"] and info["trial_reward"] == 1.0 and "_new_trial" not in vars(TrialEnv)
    assert not issubclass(Declared, trial_env.TrialEnv)


def test_an_attribute_that_takes_the_name_of_the_session_is_refused():
    class Taken(Declared):
        def __init__(self, session=3):
            super().__init__()
            self.session = session

    with pytest.raises(TypeError, match="session is the session of the task; call this attribute otherwise"):
        Taken()


def test_a_copy_has_a_session_of_its_own():
    task = ngym.make("PerceptualDecisionMaking-v0").unwrapped
    task.reset(seed=0)
    twin = copy.deepcopy(task)
    before = task.session.cursor.row, task.np_random.bit_generator.state
    for _ in range(50):
        twin.step(0)
    assert twin.session.task is twin
    assert (task.session.cursor.row, task.np_random.bit_generator.state) == before
    drawn = task.sample(np.random.default_rng(0), 3)
    assert drawn.n == 3 and (task.session.cursor.row, task.np_random.bit_generator.state) == before


def test_of_several_tasks_any_value_that_one_draws_can_be_asked_for():
    env = ScheduleEnvs([ngym.make("RDM-v0"), ngym.make("RDM-v0", cohs=[3.2])], names=["first", "second"])
    env.reset(seed=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        record = env.new_trial(task="second", coh=3.2)
    assert record["coh"] == 3.2
    with pytest.raises(ValueError, match="did you mean 'second'"):
        env.new_trial(task="secnd")


def test_what_scripts_set_on_a_task_that_declares_has_its_effect():
    task, fresh = (ngym.make("PerceptualDecisionMaking-v0").unwrapped for _ in range(2))
    task.rng = np.random.default_rng(3)
    fresh.np_random = np.random.default_rng(3)
    assert [task.new_trial() for _ in range(20)] == [fresh.new_trial() for _ in range(20)]
    task.choices = [1]
    assert task.choices == [1] and "choices" not in vars(task)
    task.performance = 0.5
    assert task.session.performance == 0.5
    with_end = ngym.make("ReadySetGo-v0").unwrapped
    with_end.reset(seed=0)
    with_end.tmax = 3 * with_end.dt
    assert with_end.tmax == 3 * with_end.dt
