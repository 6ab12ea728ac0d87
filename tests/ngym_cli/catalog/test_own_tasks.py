"""Writing a new task, and checking tasks against the contract."""

from __future__ import annotations

import json

import pytest

BAD = '''
import numpy as np
from neurogym import spaces
from neurogym.core import TrialEnv
from neurogym.rules import Rule


class Bad(TrialEnv):
    """Answers at once."""

    metadata = dict(paper_name=None, paper_link="here", tags=["percetual"], description="", history_dependent=False)
    default_timing = {"decision": 100}
    default_rewards = {"correct": 1.0, "fail": 2.0}
    rule = Rule(fixate=(), answer=("decision",))

    def __init__(self, dt=100, rewards=None, timing=None):
        super().__init__(dt=dt, rewards=rewards, timing=timing)
        self.observation_space = spaces.Box(-1, 1, shape=(1,), dtype=np.float32, name={"cue": 0})
        self.action_space = spaces.Discrete(3, name={"fixation": 0, "choice": [1, 2]})
        self.conditions = {"ground_truth": (1, 2)}

    def _new_trials(self, trials):
        trials.add_period("decision")
        trials.set_groundtruth(trials.draw("ground_truth"), "decision")


class Broken(Bad):
    def _new_trials(self, trials):
        trials.add_perod("decision")


class Unmakable(Bad):
    def __init__(self):
        raise RuntimeError("no screen")


class NoTask:
    pass
'''


def test_the_class_of_a_new_task_is_called_as_its_file(ngym):
    """That such a task can be trained is said by `test_own_parts`."""
    assert "GridCells2" in ngym("new", "grid-cells2.py").out
    assert "1 of 1 ok" in ngym("check", "grid-cells2.py:GridCells2").out
    assert "stimulus" in ngym("info", "grid-cells2.py:GridCells2").out


@pytest.mark.parametrize("file", ["my_task", "2.py", ".py", "class.txt", "no/such/folder/task.py"])
def test_new_refuses_what_is_no_file_name(ngym, file):
    result = ngym("new", file)
    assert (result.code, result.out) == (2, "")
    assert result.err.count("\n") == 1


def test_check_says_what_is_wrong(ngym, tmp_path):
    (tmp_path / "bad.py").write_text(BAD)
    result = ngym("check", "bad.py:Bad", "--json")
    assert result.code == 1
    (summary,) = json.loads(result.out)
    problems = {row["id"]: row["problem"] for row in summary["checks"] if row["status"] == "failed"}
    assert "metadata lacks 'differences'" in problems["metadata"]
    assert "the ground truth" in problems["ground_truth_is_best_paid"]
    assert all(row["description"] for row in summary["checks"])
    text = ngym("check", "bad.py:Bad")
    assert text.code == 1
    assert "advice  bad.py:8: metadata lacks 'differences'" in text.out
    assert "error   bad.py:8: at step " in text.out
    assert "does not work" in text.out


def test_check_survives_broken_tasks_and_names_the_line(ngym, tmp_path):
    (tmp_path / "bad.py").write_text(BAD)
    result = ngym("check", *(f"bad.py:{name}" for name in ("Broken", "Unmakable", "NoTask")))
    assert result.code == 1 and "0 of 3 ok" in result.out
    for problem in (
        "bad.py:29: AttributeError: 'Trials' object has no attribute 'add_perod'",
        "bad.py:34: RuntimeError: no screen",
        "NoTask is not a trial-based task",
    ):
        assert problem in result.out
    assert "Traceback" not in result.out + result.err


def test_check_of_tasks_of_the_registry(ngym):
    assert [row["id"] for row in ngym("check", "RDM-v0", "GoNogo-v0", "--json").document] == ["RDM-v0", "GoNogo-v0"]


@pytest.mark.long
def test_check_of_the_whole_registry(ngym):
    result = ngym("check", "--all")
    assert result.code == 0, result.out


@pytest.mark.parametrize(
    "arguments", [[], ["RDM-v0", "--all"], ["RDM"], ["none.py:MyTask"], ["yang19"], ["RDM-v0+GoNogo-v0"]]
)
def test_check_of_nothing_or_of_something_else_is_wrong_input(ngym, arguments):
    result = ngym("check", *arguments)
    if arguments == ["RDM"]:
        assert result.code == 0  # the version may be left out
    else:
        assert (result.code, result.out) == (2, "")
        assert result.err.count("\n") == 1


OLD = '''
import neurogym as ngym
import numpy as np
from neurogym import spaces


class Old(ngym.TrialEnv):
    """A task as NeuroGym 2.x has them."""

    def __init__(self, dt=100, rewards=None, timing=None):
        super().__init__(dt=dt)
        self.rewards = {"abort": -0.1, "correct": +1.0, "fail": 0.0}
        if rewards:
            self.rewards.update(rewards)
        self.timing = {"fixation": 100, "stimulus": 500, "decision": 200}
        if timing:
            self.timing.update(timing)
        self.observation_space = spaces.Box(-np.inf, np.inf, shape=(3,), dtype=np.float32, name=NAMES)
        self.action_space = spaces.Discrete(3, name={"fixation": 0, "choice": [1, 2]})

    def _new_trial(self, **kwargs):
        trial = {"ground_truth": self.rng.choice([1, 2])}
        trial.update(kwargs)
        self.add_period(["fixation", "stimulus", "decision"])
        self.add_ob(1, ["fixation", "stimulus"], where=0)
        self.add_ob(1, "stimulus", where=WHERE)
        self.set_groundtruth(TRUTH, "decision")
        RETURN

    def _step(self, action):
        new_trial, reward, gt = False, 0, self.gt_now
        if self.in_period("fixation"):
            if action != 0:
                new_trial, reward = self.abort, self.rewards["abort"]
        elif self.in_period("decision") and action != 0:
            new_trial = True
            if action == gt:
                reward, self.performance = self.rewards["correct"], 1
            else:
                reward = self.rewards["fail"]
        return self.ob_now, reward, False, False, {"new_trial": new_trial, "gt": gt}
'''


def old(
    names='{"fixation": 0, "stimulus": [1, 2]}',
    where="trial['ground_truth']",
    truth="trial['ground_truth']",
    end="return trial",
):
    text = OLD.replace("NAMES", names).replace("WHERE", where).replace("TRUTH", truth)
    return text.replace("RETURN", end)


def test_a_working_task_of_old_is_told_to_work_and_what_would_be_nicer(ngym, tmp_path):
    (tmp_path / "old.py").write_text(old())
    result = ngym("check", "old.py:Old")
    assert result.code == 0, result.out
    assert " works " in result.out
    assert "  error " not in result.out and "KeyError" not in result.out
    assert "advice  old.py:7: metadata lacks" in result.out


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"truth": "6"}, "the ground truth 6 "),
        ({"end": "pass"}, "_new_trial must return the trial's description, a dict, not NoneType"),
        ({"names": '{"fixation": 0}', "where": "1"}, "channel 2 has no name and is always 0"),
    ],
)
def test_what_does_not_work_is_found_and_told_once(ngym, tmp_path, changes, says):
    (tmp_path / "old.py").write_text(old(**changes))
    result = ngym("check", "old.py:Old")
    assert result.code == 1, result.out
    assert result.out.count(says) == 1, result.out
    line = next(line for line in result.out.splitlines() if says in line)
    assert line.strip().startswith("error") and "old.py:" in line


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("notes.txt", "notes.txt is not a Python file"),
        ("empty.py", "part 'empty.py': no class or function in the file; expected path/to/file.py:Name"),
        ("empty.py:X", "part 'empty.py:X': X is not a class or function"),
        ("missing.py:X", "no such file: missing.py"),
    ],
)
def test_files_without_a_part_are_not_called_tasks(ngym, tmp_path, monkeypatch, name, says):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "notes.txt").write_text("notes")
    (tmp_path / "empty.py").write_text("X = 1")
    result = ngym("check", name)
    assert result.code == 2 and says in result.err


def test_a_file_without_its_class_is_answered_with_the_class(ngym, tmp_path):
    (tmp_path / "old.py").write_text(old())
    result = ngym("run", "--task", "old.py")
    assert (result.code, result.out) == (2, "")
    assert "name the class in it, as old.py:Old" in result.err


LIMITED = '''
import numpy as np
import neurogym as ngym


class Silent(ngym.TrialEnv):
    """Nothing is right in this task."""

    def __init__(self, dt=100):
        super().__init__(dt=dt, timing={"look": 200, "wait": 100})
        self.observation_space = ngym.spaces.Box(-np.inf, np.inf, shape=(1,), name={"light": 0})
        self.action_space = ngym.spaces.Discrete(2)

    def _new_trial(self, **kwargs):
        self.add_period(["look", "wait"])
        self.add_ob(1, "look")
        return {}

    def _step(self, action):
        return self.ob_now, 0.0, False, False, {"new_trial": False}


class Forgot(Silent):
    def __init__(self, dt=100):
        self.timing = {"look": 200, "wait": 100}


class ForgotAndUses(Silent):
    def __init__(self, dt=100):
        self.sigma = 1 / np.sqrt(self.dt)
'''


def test_checks_that_have_nothing_to_look_at_are_not_ok(ngym, tmp_path):
    (tmp_path / "limited.py").write_text(LIMITED)
    (result,) = json.loads(ngym("check", "limited.py:Silent", "--json").out)
    status = {row["id"]: row["status"] for row in result["checks"]}
    nothing = {name for name, case in status.items() if case == "nothing to check"}
    assert nothing == {
        "ground_truth_is_an_action",
        "channels_carry_something",
        "ground_truth_is_best_paid",
        "necessary",
    }
    text = ngym("check", "limited.py:Silent").out
    passed = sum(case == "ok" for case in status.values())
    assert f"{passed} of {len(status) - 4} checks passed" in text
    assert "-       necessary: nothing to check, the task calls nothing necessary" in text


@pytest.mark.parametrize("name", ["Forgot", "ForgotAndUses"])
def test_a_forgotten_constructor_of_the_base_is_named(ngym, tmp_path, name):
    (tmp_path / "limited.py").write_text(LIMITED)
    result = ngym("check", f"limited.py:{name}")
    assert result.code == 1
    assert f"{name}.__init__ must begin with super().__init__(dt=dt, ...)" in result.out and "ahead" not in result.out


def test_an_attribute_that_is_called_session_is_refused(ngym, tmp_path):
    """The session of a task is the package's own object."""
    from neurogym import make

    (tmp_path / "limited.py").write_text(
        LIMITED.replace("        self.observation", "        self.session = 7\n        self.observation")
    )
    result = ngym("run", "--task", "limited.py:Silent", "--timesteps", "500")
    assert result.code == 2 and "session is the session of the task; call this attribute otherwise" in result.err
    assert make("TwoStep-v0", session=30).unwrapped.trials_per_session == 30
