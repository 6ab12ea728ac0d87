"""Older paths and names are found, and are not copies."""

import importlib
import importlib.util
import pickle
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

import neurogym
from neurogym.compat import changes
from neurogym.envs import native

OLD = sorted(changes.MODULES)

#: What the specification lists, by module; none of it may be lost.
WANTED = {
    "neurogym.utils.spaces": "Box Discrete",
    "neurogym.utils.info": "show_all_tasks show_all_wrappers show_all_tags show_info all_tasks info_wrapper",
    "neurogym.utils.psychometric": "plot_psychometric probit",
    "neurogym.config.config": "Config config",
    "neurogym.config.base": "ConfigBase ROOT_DIR PKG_DIR CONFIG_DIR LOCAL_DIR",
    "neurogym.config.components.agent": "AgentConfig",
    "neurogym.config.components.env": "EnvConfig",
    "neurogym.config.components.monitor": "MonitorConfig",
    "neurogym.config.components.plot": "PlotConfig",
    "neurogym.envs.native.annubes": "AnnubesEnv",
    "neurogym.envs.native.multisensory": "MultiSensoryIntegration",
    "neurogym.envs.native.reaching": "Reaching1D Reaching1DWithSelfDistraction",
    "neurogym.envs.contrib.cv_learning": "CVLearning",
    "neurogym.envs.collections.priors": "priors_v0",
    "neurogym.envs.psychopy": "RandomDotMotion SpatialSuppressMotion VisualSearch",
    "neurogym.wrappers.components.probes.activation": "ActivationProbe",
    **{f"neurogym.wrappers.components.modules.{name}": "ActivationProbe" for name in "af base linear lstm rnn".split()},
    "neurogym.wrappers": "ALL_WRAPPERS",
    "neurogym.envs.registration": "ALL_ENVS ALL_NATIVE_ENVS ALL_CONTRIB_ENVS ALL_COLLECTIONS_ENVS ALL_EXTENDED_ENVS "
    "ALL_PSYCHOPY_ENVS",
    "neurogym.envs.collections": "get_collection",
    "neurogym.envs.native.perceptualdecisionmaking": "PerceptualDecisionMakingDelayResponse PulseDecisionMaking",
    "neurogym.envs.native.readysetgo": "MotorTiming OneTwoThreeGo TruncExp",
    "neurogym.envs.native.delaymatchsample": "DelayMatchSampleDistractor1D",
    "neurogym.envs.contrib.ibl": "IBL_Block",
    "neurogym.envs.contrib.leverpress": "LeverPressWithPoke LeverPressWithPokeRest ContextSwitch FullInput",
    "neurogym.core": "trunc_exp OBNOW METADATA_DEF_KEYS EnvMeta",
    "neurogym.utils.plotting": "order_by_suffix PlotConfig fig_",
    "neurogym.wrappers.monitor": "ActivationProbe visualize_run Config",
    "neurogym.wrappers.block": "TrialEnv TrialWrapper spaces",
    "neurogym.utils.data": "make",
    "neurogym.utils.random": "TruncExp trunc_exp random_number_fn",
    "neurogym.meta": "all_tasks",
    "neurogym.envs": "ALL_ENVS",
    "neurogym.envs.rdm": "RDM",
    "neurogym.envs.mante": "Mante",
    "neurogym.envs.dawtwostep": "DawTwoStep",
    "neurogym.wrappers.trial_hist": "TrialHistory",
    "neurogym.wrappers.trial_hist_ev": "TrialHistoryEvolution VariableMapping",
    "neurogym.wrappers.manage_data": "ManageData",
}


@pytest.mark.parametrize("path", OLD)
def test_old_modules_are_found_and_resolve_every_name(path):
    module = importlib.import_module(path)
    assert importlib.util.find_spec(path) is not None
    assert dir(module)
    for name in dir(module):
        assert getattr(module, name) is not None
    assert not hasattr(module, "no_such_name") and not hasattr(module, "__file__")


@pytest.mark.parametrize("path", WANTED)
def test_the_names_that_are_asked_for(path):
    module = importlib.import_module(path)
    for name in WANTED[path].split():
        exec(f"from {path} import {name}", {})
        assert getattr(module, name) is not None


@pytest.mark.parametrize("path", changes.NAMES)
def test_every_name_of_the_table_is_somewhere(path):
    for name in changes.NAMES[path]:
        assert getattr(importlib.import_module(path), name) is not None


def test_no_old_path_hides_a_present_module():
    """The table would win over a module of the same name."""
    present = {name for _, name, _ in pkgutil.walk_packages(neurogym.__path__, "neurogym.")}
    assert not present & set(OLD)


def test_present_modules_keep_their_own_names():
    for name in native.TASKS:
        path = f"neurogym.envs.native.{name.lower()}"
        module = importlib.import_module(native.TASKS[name])
        assert getattr(module, name).__module__ == module.__name__
        assert getattr(importlib.import_module(path), name) is getattr(module, name)
        assert module.__spec__.loader.get_source(module.__name__).startswith('"""')


def test_names_are_the_same_objects_by_any_path():
    import neurogym.utils.spaces
    from neurogym.envs.native.pulsedecisionmaking import PulseDecisionMaking as CurrentObservations

    from neurogym.envs.native.perceptualdecisionmaking import PulseDecisionMaking

    assert PulseDecisionMaking is CurrentObservations
    assert neurogym.utils.spaces.Box is neurogym.spaces.Box
    assert pickle.loads(pickle.dumps(PulseDecisionMaking)) is CurrentObservations
    old = b"cneurogym.envs.native.perceptualdecisionmaking\nPulseDecisionMaking\n."
    assert pickle.loads(old) is CurrentObservations


@pytest.mark.parametrize("line", ["from neurogym.utils.spaces import Boxx", "import neurogym.utils.spacesss"])
def test_what_never_existed_is_not_found(line):
    with pytest.raises(ImportError):
        exec(line, {})


def test_star_imports_and_reloading():
    names: dict = {}
    exec("from neurogym.utils.psychometric import *", names)
    assert "probit" in names
    module = importlib.import_module("neurogym.utils.info")
    assert importlib.reload(module).show_info is neurogym.info.show_info


def test_importing_the_package_imports_no_more_than_before_and_walking_works():
    code = (
        "import sys, neurogym;"
        "extra = sorted(m for m in sys.modules if m.startswith('neurogym.compat'));"
        "assert 'neurogym.compat.lists' not in extra, extra;"
        "old = [m for m in sys.modules if type(sys.modules[m]).__name__ == 'OldModule']; assert not old, old;"
        "import pkgutil; names = [m.name for m in pkgutil.walk_packages(neurogym.__path__, 'neurogym.')];"
        "assert 'neurogym.envs.native.gonogo' in names;"
        "import inspect; from neurogym.envs.native.gonogo import GoNogo;"
        "assert 'class GoNogo' in inspect.getsource(GoNogo);"
        "import neurogym.utils.spaces as s; assert inspect.getmodule(GoNogo).__name__.endswith('gonogo')"
    )
    subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=True, timeout=120)


def test_the_wrapper_of_the_lever_tasks():
    from neurogym.envs.contrib.leverpress import FullInput

    env = FullInput(neurogym.make("LeverPressWithPoke-v0"))
    env.reset(seed=0)
    ob, reward, *_ = env.step(1)
    assert ob.shape == (4,) and ob[1] == reward and ob[2:].tolist() == [0, 1]


def test_descriptions_as_text():
    from neurogym.meta.info import info, info_wrapper

    assert "GoNogo" in info("GoNogo-v0") and "class GoNogo" in info("GoNogo-v0", show_code=True)
    assert "PassReward" in info_wrapper("PassReward") and "GoNogo-v0" in info()
    assert Path(neurogym.__file__).parent == importlib.import_module("neurogym.config.base").PKG_DIR
