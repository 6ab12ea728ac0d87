"""Names that scripts import, and what importing does not do."""

import importlib
import logging
import subprocess
import sys

import numpy as np
import pytest

import neurogym as ngym

TOP_LEVEL = """make register info spaces Dataset all_envs all_tags all_wrappers get_collection BaseEnv TrialEnv
    TrialWrapper InvalidOperationError env_string PeriodEnv EpochEnv plot_env plot_psychometric TruncExp RandomSchedule
    SequentialSchedule SequentialBlockSchedule Config config logger core envs utils wrappers random __version__ Monitor
    Noise PassAction PassReward ReactionTime SideBias RandomGroundTruth ScheduleAttr ScheduleEnvs TrialHistoryV2
    MultiEnvs""".split()

ELSEWHERE = {
    "config": "Config config",
    "core": "BaseEnv TrialEnv TrialWrapper InvalidOperationError env_string",
    "envs": "get_collection all_envs all_tags make register",
    "envs.registration": "make register all_envs all_tags get_collection",
    "info": "show_all_tasks show_all_wrappers show_all_tags show_info",
    "spaces": "Box Discrete Dict MultiBinary MultiDiscrete Space Tuple flatdim flatten unflatten",
    "utils": "plot_env plot_psychometric TruncExp RandomSchedule SequentialSchedule SequentialBlockSchedule",
    "utils.data": "Dataset",
    "utils.decorators": "suppress_during_pytest",
    "utils.functions": "ensure_dir iso_timestamp",
    "utils.logging": "logger",
    "utils.ngym_random": "TruncExp trunc_exp random_number_fn random_number_name",
    "utils.plotting": "plot_env run_env visualize_run fig_ plot_env_1dbox plot_env_3dbox plot_psychometric probit "
    "plot_rew_across_training concatenate_files order_by_sufix",
    "utils.scheduler": "BaseSchedule RandomBlockSchedule RandomSchedule SequentialBlockSchedule SequentialSchedule",
    "utils.tasktools": "to_map get_idx get_periods_idx minmax_number circular_dist divide correct_2AFC compute_perf",
    "wrappers": "Monitor Noise PassAction PassReward ReactionTime SideBias RandomGroundTruth ScheduleAttr ScheduleEnvs "
    "TrialHistoryV2 all_wrappers",
    "wrappers.block": "RandomGroundTruth ScheduleAttr ScheduleEnvs TrialHistoryV2 MultiEnvs",
    "wrappers.monitor": "Monitor",
    "wrappers.noise": "Noise",
    "wrappers.pass_action": "PassAction",
    "wrappers.pass_reward": "PassReward",
    "wrappers.reaction_time": "ReactionTime",
    "wrappers.side_bias": "SideBias",
}


def test_top_level_names() -> None:
    assert all(getattr(ngym, name) is not None for name in TOP_LEVEL)
    with pytest.raises(AttributeError):
        ngym.nothing_of_the_kind  # noqa: B018


@pytest.mark.parametrize("module", ELSEWHERE)
def test_names_in_modules(module: str) -> None:
    loaded = importlib.import_module(f"neurogym.{module}")
    assert all(getattr(loaded, name) is not None for name in ELSEWHERE[module].split())


def test_importing_changes_nothing_and_stays_light() -> None:
    code = (
        "import logging, os, sys; before = list(logging.root.handlers), os.getcwd();"
        "import neurogym as ngym; ngym.make('GoNogo-v0').reset(); ngym.all_wrappers();"
        "names = 'matplotlib scipy pandas torch pydantic stable_baselines3'.split();"
        "heavy = [m for m in names if m in sys.modules];"
        "assert not heavy, heavy; assert before == (list(logging.root.handlers), os.getcwd());"
        "import matplotlib; settings = dict(matplotlib.rcParams);"
        "from neurogym.utils import plotting; assert settings == dict(matplotlib.rcParams)"
    )
    subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=True, timeout=60)


def test_info_speaks_through_its_own_logger(caplog) -> None:
    logger, heard = ngym.logger, []
    handler = logging.Handler()
    handler.emit = lambda record: heard.append(record.getMessage())
    logger.addHandler(handler)
    try:
        ngym.info.show_all_tasks(tag="timing")
        ngym.info.show_all_wrappers()
        ngym.info.show_all_tags()
        for thing in ("GoNogo-v0", "yang19.go-v0", "Monitor-v0", "side_bias", ngym.make("GoNogo-v0")):
            assert ngym.info.show_info(thing) is None
        logger.info("a message with {braces} and <brackets>")
    finally:
        logger.removeHandler(handler)
    assert "ReadySetGo-v0" in heard[0] and "PassReward" in heard[1] and "timing" in heard[2]
    assert "10.7554/eLife.43191" in heard[3] and "Place in a stack" in heard[5]
    with pytest.raises(ValueError, match="GoNogo-v0"):
        ngym.info.show_info("GoNogoo-v0")
    with pytest.raises(TypeError):
        ngym.info.show_info(3)


def test_several_tasks_by_name() -> None:
    env = ngym.make_multi("RDM-v0+GoNogo-v0", schedule="block:3", dt=50, timing={"stimulus": 300})
    env.reset(seed=0)
    tasks = [env.unwrapped.trial["task"], *(env.unwrapped.new_trial()["task"] for _ in range(8))]
    assert [len(set(tasks[i : i + 3])) for i in (0, 3, 6)] == [1, 1, 1] and len(set(tasks)) == 2
    assert env.action_space.n == 3 and env.observation_space.shape == (5,)
    assert ngym.make_multi("yang19", rule_input=False).observation_space.shape == (33,)
    for ids, kwargs, message in (
        ("RDM-v0+GoNogo-v0", {"pad": False}, "does not fit"),
        ("RDM-v0+ReachingDelayResponse-v0", {}, "does not fit"),
        ("RDM-v0+ReadySetGo-v0", {}, "same dt"),
        ("RDM-v0+GoNogo-v0", {"schedule": "often"}, "unknown schedule"),
        ("RDM-v0+GoNogo-v0", {"cohss": 1}, "none of the tasks takes cohss"),
        ("RDM-v0+GoNogo-v0", {"timing": {"fixaton": 1}}, "none of the tasks takes timing fixaton"),
    ):
        with pytest.raises(ValueError, match=message):
            ngym.make_multi(ids, **kwargs)


def test_the_oracle_of_several_tasks_is_always_right() -> None:
    env = ngym.make_multi("yang19", dim_ring=4)
    env.reset(seed=0)
    performance = []
    for _ in range(2000):
        *_, info = env.step(int(env.unwrapped.oracle()))
        if info["new_trial"]:
            performance.append(info["performance"])
    assert np.all(np.array(performance) == 1)
