"""What a Monitor writes and draws."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

import neurogym as ngym
from neurogym.plotting.training import plot_traces
from neurogym.wrappers import Monitor


def test_saving_again_before_a_trial_has_ended_keeps_what_was_written(tmp_path) -> None:
    env = Monitor(ngym.make("GoNogo-v0"), trigger="trial", interval=5, plot_create=False, save_dir=tmp_path)
    env.reset(seed=0)
    while env.num_tr < 5:
        env.step(0)
    (path,) = tmp_path.glob("*.npz")
    assert env.save_data() == path
    assert len(np.load(path)["reward"]) == 5


def test_traces_count_steps_and_say_why_there_are_none() -> None:
    figure, axes = plot_traces([np.ma.array(np.zeros((12, 2)))], "lstm")
    figure.canvas.draw()
    assert all(tick == int(tick) for tick in axes[0, 0].get_xticks())
    plt.close(figure)
    with pytest.raises(ValueError, match="training mode"):
        plot_traces([], "lstm")


def test_records_of_trials_are_collected_and_can_be_forgotten(tmp_path) -> None:
    env = Monitor(ngym.make("PerceptualDecisionMaking-v0"), interval=10**6, save_dir=tmp_path)
    env.reset(seed=0)
    while env.num_tr < 3:
        env.step(0)
    reported = [env.step(0)[4] for _ in range(22)]
    assert env.data["trial"][-1] == reported[-1]["trial"] and len(env.data["trial"]) == len(env.data["coh"]) == 4
    env.step(0, record=False)
    assert env.steps_since_save == 4 * 22
    np.load(env.save_data())  # nothing pickled is in the file
    env.reset_data()
    assert env.data["action"] == [] and env.steps_since_save == 0


@pytest.mark.parametrize(("plot", "drawn"), [({"trigger": "trial", "value": 2}, 44), ({"value": 30}, 30)])
def test_figures_are_as_long_as_is_asked_for(tmp_path, monkeypatch, plot, drawn) -> None:
    settings = {"monitor": {"interval": 10**6, "plot": {"create": True, **plot}}}
    env = Monitor(ngym.make("PerceptualDecisionMaking-v0"), config=settings, save_dir=tmp_path)
    env.reset(seed=0)
    seen = []
    monkeypatch.setattr("neurogym.wrappers.monitor.visualize_run", lambda ob, *_, **__: seen.append(len(ob)))
    for _ in range(60):
        env.step(0)
    assert seen == [drawn]


def test_activity_is_recorded_while_the_environment_is_stepped_by_hand() -> None:
    torch = pytest.importorskip("torch")
    from neurogym.wrappers.components.modules.linear import ActivationProbe, LinearLayerProbe
    from neurogym.wrappers.components.probes.activation import RNNLayerProbe

    assert LinearLayerProbe is RNNLayerProbe is ActivationProbe
    env = Monitor(ngym.make("GoNogo-v0"), verbose=False)
    layer, second = torch.nn.Linear(3, 5), torch.nn.Linear(3, 2)
    am = env.record_activations(layer, "layer")
    free = ActivationProbe(module=second)
    assert am.probe is am and am.monitor is env
    ob, _ = env.reset(seed=0)
    rows = []
    while env.num_tr < 3:
        rows.append(layer(torch.from_numpy(ob)).detach().numpy())
        second(torch.from_numpy(ob))
        ob = env.step(0)[0]
    short = torch.nn.ReLU().eval()
    first = ActivationProbe(module=short, steps=5)
    short(torch.arange(10.0)[:, None])
    assert first.history["output"][0].ravel().tolist() == [0, 1, 2, 3, 4]
    layer(torch.zeros(7, 3))  # a batch to learn from
    traces = am.history["output"]
    assert len(traces) == 3 and sum(int(trace.count()) for trace in traces) == 5 * len(rows)
    np.testing.assert_allclose(traces[0], rows[: len(traces[0])], rtol=1e-5)
    assert [len(trace) for trace in free.history["output"]] == [len(rows)]
    with pytest.warns(UserWarning, match="batch_dim"):
        plt.close(env.plot_activations("layer", "output", batch_dim=0)[0])
