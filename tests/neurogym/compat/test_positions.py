"""Arguments given by position mean what they mean in NeuroGym; what is our own comes after."""

import inspect

import numpy as np
import pytest

import neurogym as ngym
from neurogym import core, spaces
from neurogym.compat import trial_env
from neurogym.envs.registration import entry, every_task, group
from neurogym.utils import data, ngym_random, plotting, psychometric, scheduler, tasktools
from neurogym.wrappers import WRAPPERS, wrapper_class

USUAL = "dt rewards timing"
#: Arguments of every task of NeuroGym (2.2.0; AnnubesEnv 2.3.1) and of those that it had before, in their order.
TASKS = {
    "AngleReproduction": USUAL,
    "AnnubesEnv": "session catch_prob intensities stim_time max_sequential fix_intensity fix_time iti dt tau "
    "output_behavior noise_std rewards random_seed frozen_seed",
    "AntiReach": "dt anti rewards timing dim_ring",
    "Bandit": "dt n p rewards timing",
    "CVLearning": f"{USUAL} stim_scale sigma max_num_reps th_stage keep_days trials_day perf_len stages n_ch",
    "ChangingEnvironment": f"{USUAL} stim_scale sigma cxt_ch_prob cxt_cue",
    "ContextDecisionMaking": "dt use_expl_context impl_context_modality dim_ring rewards timing sigma abort",
    "DawTwoStep": USUAL,
    "DelayComparison": "dt vpairs rewards timing sigma",
    "DelayMatchCategory": f"{USUAL} sigma dim_ring",
    "DelayMatchSample": f"{USUAL} sigma dim_ring",
    "DelayMatchSampleDistractor1D": f"{USUAL} sigma",
    "DelayPairedAssociation": f"{USUAL} sigma",
    "DelayEstimation": f"{USUAL} sigma dim_ring",
    "Detection": f"{USUAL} sigma delay stim_dur",
    "DualDelayMatchSample": f"{USUAL} sigma",
    "EconomicDecisionMaking": USUAL,
    "GoNogo": USUAL,
    "HierarchicalReasoning": USUAL,
    "IBL": "dt rewards",
    "IntervalDiscrimination": USUAL,
    "MatchingPenny": f"{USUAL} opponent_type learning_rate",
    "MemoryRecall": "dt stim_dim store_signal_dim t_min t_max t_distribution p_recall chance balanced",
    "MotorTiming": f"{USUAL} prod_margin",
    "MultiSensoryIntegration": f"{USUAL} sigma dim_ring",
    "NAltPerceptualDecisionMaking": f"{USUAL} n_ch sigma stim_scale cohs ob_nch ob_histblock zero_irrelevant_stim",
    "NAltConditionalVisuomotor": f"{USUAL} sigma stim_scale n_ch n_stims",
    "Null": "dt",
    "OneTwoThreeGo": f"{USUAL} prod_margin",
    "PerceptualDecisionMaking": "dt dim_ring rewards timing cohs sigma abort",
    "PerceptualDecisionMakingDelayResponse": f"{USUAL} stim_scale sigma",
    "Pneumostomeopening": USUAL,
    "PostDecisionWager": f"{USUAL} dim_ring sigma",
    "ProbabilisticReasoning": f"{USUAL} shape_weight n_loc",
    "PulseDecisionMaking": f"{USUAL} p_pulse n_bin",
    "RandomDotMotion": "dt win_kwargs rewards timing stim_scale dim_ring",
    "Reaching1D": f"{USUAL} dim_ring",
    "Reaching1DWithSelfDistraction": USUAL,
    "ReachingDelayResponse": f"{USUAL} lowbound highbound",
    "ReadySetGo": f"{USUAL} gain prod_margin",
    "SpatialSuppressMotion": "dt timing rewards",
    "SpatialSuppressMotionImage": "dt win_kwargs timing rewards",
    "ToneDetection": "dt sigma timing",
    "VisualSearch": "dt win_kwargs rewards timing target_centers length delta_angle delta_color line_width",
}
#: The same of wrappers, those of before included.
OF_WRAPPERS = {
    "BiasCorrection": "env choice_w th",
    "CatchTrials": "env catch_prob stim_th start alt_rew",
    "Combine": "env distractor delay dt mix share_action_space defaults trial_cue",
    "ComputeMeanPerf": "env perf_th perf_w key cond_on_coh",
    "CurriculumLearning": "env perf_w max_num_reps init_ph th",
    "DynamicNoise": "env std_noise ev_incr perf_th w step_noise",
    "Identity": "env id_",
    "LearnTransMatrix": "env lr decay",
    "MissTrialReward": "env r_miss",
    "Modality": "env modality n_modality",
    "Monitor": "env config name trigger interval verbose plot_create plot_steps ext step_fn",
    "MotionEnergy": "env directions delay speed",
    "MultiEnvs": "envs env_input",
    "Noise": "env std_noise perf_th w step_noise",
    "PassAction": "env",
    "PassGT": "env",
    "PassReward": "env",
    "PerfPhases": "env start_ph end_ph step_ph wait flag_key",
    "PerfectIntegrator": "env",
    "Persistence": "env probs",
    "RandomGroundTruth": "env p",
    "ReactionTime": "env urgency end_on_stimulus",
    "ScheduleAttr": "env schedule attr_list",
    "ScheduleEnvs": "envs schedule env_input",
    "Shaping": "env init_ph max_num_reps short_dur th perf_w",
    "SideBias": "env probs block_dur",
    "StimAccSignal": "env",
    "TTLPulse": "env periods",
    "TimeOut": "env time_out",
    "TransferLearning": "envs num_tr_per_task task_cue",
    "TrHReset": "env rep_prob",
    "TrialHistory": "env probs block_dur num_blocks blk_ch_prob rand_blcks balanced_probs",
    "TrialHistoryEvolution": "env probs ctx_dur num_contexts fix_2AFC death_prob ctx_ch_prob balanced_probs "
    "predef_tr_mats",
    "TrialHistoryV2": "env probs",
    "TrialHistory_NAlt": "env n_ch tr_prob block_dur blk_ch_prob trans",
    "VariableMapping": "env mapp_ch_prob min_mapp_dur sess_end_prob min_sess_dur",
    "VariableReactionTime": "env urgency stim_dur_limit",
    "Variable_nch": "env block_nch blocks_probs sorted_ch prob_12",
}
PLOT = "ob actions gt rewards performance states legend ob_traces name fname fig_kwargs env"
#: The same of functions, methods and other classes.
OTHERS = {
    trial_env.BaseEnv: "dt",
    core.TrialEnv: "dt num_trials_before_reset r_tmax",
    trial_env.TrialEnv.add_period: "self period duration before after",
    trial_env.TrialEnv.add_ob: "self value period where",
    trial_env.TrialEnv.set_ob: "self value period where",
    trial_env.TrialEnv.add_randn: "self mu sigma period where",
    trial_env.TrialEnv.set_groundtruth: "self value period where",
    trial_env.TrialEnv.view_ob: "self period",
    trial_env.TrialEnv.view_groundtruth: "self period",
    core.TrialEnv.in_period: "self period t",
    trial_env.TrialEnv.trial_length_stats: "self num_trials",
    trial_env.TrialEnv.post_step: "self ob reward terminated truncated info",
    ngym.env_string: "env short",
    data.Dataset: "env env_kwargs batch_size seq_len max_batch batch_first cache_len",
    ngym.Config: "config_file",
    ngym.Monitor.step: "self action collect_data",
    ngym.Monitor.evaluate_policy: "self num_trials model verbose",
    ngym.Monitor.plot_training_history: "self figsize save_fig plot_performance",
    ngym.Monitor.record_activations: "self layer name steps",
    ngym.Monitor.plot_activations: "self name population figsize neurons mean",
    ngym.all_envs: "tag psychopy contrib collections",
    ngym.get_collection: "collection",
    ngym.make: "id_",
    ngym.register: "id_",
    ngym_random.TruncExp: "vmean vmin vmax",
    ngym_random.random_number_fn: "dist args rng",
    ngym_random.random_number_name: "dist args",
    ngym_random.trunc_exp: "rng vmean vmin vmax",
    plotting.plot_env: "env num_steps num_trials def_act model name legend ob_traces fig_kwargs fname plot_performance",
    plotting.plot_env_1dbox: PLOT,
    plotting.plot_env_3dbox: "ob fname env",
    plotting.plot_rew_across_training: "folder window ax fkwargs ytitle legend zline metric_name",
    plotting.run_env: "env num_steps num_trials def_act model",
    plotting.visualize_run: f"{PLOT} initial_ob trial_starts",
    psychometric.plot_psychometric: "sig_ev ch ax title legend",
    scheduler.RandomBlockSchedule: "n block_lens",
    scheduler.RandomSchedule: "n",
    scheduler.SequentialBlockSchedule: "n block_lens",
    scheduler.SequentialSchedule: "n",
    spaces.Box: "low high name",
    spaces.Discrete: "n name",
    tasktools.compute_perf: "perf reward num_tr_perf tr_perf",
    tasktools.get_idx: "t start_end",
    tasktools.get_periods_idx: "dt periods",
    tasktools.minmax_number: "dist args",
}
ROWS = [
    *((task, lambda task=task: entry(f"{task}-v0"), names) for task, names in TASKS.items()),
    *((name, lambda name=name: wrapper_class(name), names) for name, names in OF_WRAPPERS.items()),
    *((found.__qualname__, lambda found=found: found, names) for found, names in OTHERS.items()),
]


@pytest.mark.parametrize(("name", "find", "names"), ROWS, ids=[row[0] for row in ROWS])
def test_positions(name, find, names):
    parameters = list(inspect.signature(find()).parameters.values())
    wanted = names.split()
    assert [p.name for p in parameters[: len(wanted)]] == wanted
    assert all(p.kind is not p.KEYWORD_ONLY for p in parameters[: len(wanted)])


def test_every_task_and_wrapper_of_the_table_exists():
    assert set(OF_WRAPPERS) == set(WRAPPERS)
    single = {id_.removesuffix("-v0") for id_ in every_task() if group(id_) != "collections"}
    assert set(TASKS) <= single


def test_tasks_that_scripts_make_by_position():
    from neurogym.envs.native.contextdecisionmaking import ContextDecisionMaking
    from neurogym.envs.native.perceptualdecisionmaking import PerceptualDecisionMaking

    assert PerceptualDecisionMaking(100, 16).action_space.n == 17
    assert ContextDecisionMaking(100, False, 0, 4).observation_space.shape == (9,)
    assert np.isclose(PerceptualDecisionMaking(100, 4, {"correct": 2}).rewards["correct"], 2)
