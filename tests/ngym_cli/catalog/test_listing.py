"""What there is: listings, their filters, explanations and help."""

from __future__ import annotations

import json

import pytest
import typer
from rich.text import Text

from ngym_cli.agents import per_task
from ngym_cli.catalog import listing
from ngym_cli.commands.app import app
from ngym_cli.errors import UserError


def rows(ngym, *arguments):
    return ngym("list", *arguments, "--json").document


@pytest.mark.parametrize(
    ("filters", "has", "has_not"),
    [
        (["--tag", "timing"], "ReadySetGo-v0", "RDM-v0"),
        (["--paper", "Britten"], None, "GoNogo-v0"),
        (["--paper", "10.1523/JNEUROSCI.12-12-04745"], "PerceptualDecisionMaking-v0", "GoNogo-v0"),
        (["--obs", "image"], "RandomDotMotion-v0", "PerceptualDecisionMaking-v0"),
        (["--obs", "100x100x3"], None, "PerceptualDecisionMaking-v0"),
        (["--obs", "stimulus"], "PerceptualDecisionMaking-v0", "Bandit-v0"),
        (["--action", "continuous"], "ReachingDelayResponse-v0", "PerceptualDecisionMaking-v0"),
        (["--action", "discrete", "--tag", "go-no-go"], "GoNogo-v0", "ReachingDelayResponse-v0"),
        (["motion", "directions", "noisy"], "PerceptualDecisionMaking-v0", "GoNogo-v0"),
    ],
)
def test_filters_of_tasks(ngym, filters, has, has_not):
    result = ngym("list", "tasks", *filters, "--json")
    if result.code == 2:
        assert has is None
        return
    summary = {row["id"] for row in json.loads(result.out)}
    assert has is None or has in summary
    assert has_not not in summary


def test_every_task_says_what_the_agent_does_sees_and_can_do(ngym):
    for row in rows(ngym, "tasks"):
        assert row["description"] and "\n" not in row["description"]
        assert row["observation"]["kind"] in ("vector", "image")
        assert row["action"]["kind"] in ("vector", "discrete")
        assert row["action"]["size"] >= 1


def test_wrappers_say_what_they_change_and_one_that_only_watches_says_nothing(ngym):
    results = {row["id"]: row for row in rows(ngym, "wrappers")}
    assert results["monitor"]["changes"] == [] and results["pass_reward"]["changes"] == ["observation"]
    assert results["combine"]["changes"] == ["tasks"] and results["side_bias"]["decides"] == ["ground_truth"]
    assert all(row["description"] and row["order"] for row in results.values())
    assert [row["id"] for row in rows(ngym, "wrappers", "append", "reward")] == ["pass_reward"]
    page = json.loads(ngym("info", "monitor", "--json").out)
    assert page["changes"] == [] and page["ceiling_effect"] == "left as it is"


def test_ceilings_have_all_their_parts(ngym):
    result = [row["ceiling"] for row in rows(ngym, "tasks", "--ceilings")]
    expected = [ceiling for ceiling in result if ceiling]
    assert len(expected) > 0.8 * len(result)
    assert all(set(ceiling) == {"performance", "reward", "error", "method"} for ceiling in expected)


def test_tasks_are_grouped_by_tag_each_once(ngym, on_terminal):
    on_terminal(100)
    text = ngym("list", "tasks").out
    assert "\nworking memory" in text
    assert text.count("DelayComparison-v0") == 1


@pytest.mark.parametrize("case", ["tasks", "wrappers", "algs", "figures", "differences"])
def test_piped_rows_are_one_line_each_with_tabs_and_no_padding(ngym, case):
    lines = ngym("list", case).out.splitlines()
    assert len(lines) == len(rows(ngym, case))
    assert all("\t" in line and "  " not in line.replace("\t", "") for line in lines)


def test_no_rows_are_told_on_a_terminal_only(ngym, on_terminal):
    assert ngym("list", "runs").out == ""
    on_terminal(80)
    assert ngym("list", "runs").out.strip() == "0 runs"


def test_old_names_find_their_task(ngym, on_terminal):
    assert [row["id"] for row in rows(ngym, "tasks", "mante")] == ["ContextDecisionMaking-v0"]
    on_terminal(140)
    assert "Mante" in ngym("list", "tasks", "mante").out


@pytest.mark.parametrize("width", [60, 80, 120])
def test_runs_keep_status_and_performance_at_every_width(ngym, on_terminal, run_folder, width):
    on_terminal(width)
    lines = ngym("list", "runs", "--runs", run_folder.parents[2]).out.splitlines()
    assert all(len(line) <= width for line in lines)
    assert "status" in lines[0] and "performance" in lines[0]
    assert any("finished" in line for line in lines)


def test_differences_are_listed_and_searched(ngym):
    everything = rows(ngym, "differences")
    assert len({row["id"] for row in everything}) == len(everything)
    some = rows(ngym, "differences", "fixation", "cue")
    assert 0 < len(some) < len(everything)
    assert all("fixation" in f"{row['task']} {row['difference']}".lower() for row in some)
    assert "DelayComparison-v0" in ngym("list", "differences").out


def test_info_on_a_wrapper_explains_every_argument(ngym):
    result = json.loads(ngym("info", "side_bias", "--json").out)
    assert set(result["arguments"]) == {"probs", "block_dur"}
    assert result["paper"] and result["link"].startswith("https://doi.org") and result["order"]
    for wrapper in rows(ngym, "wrappers"):
        about = json.loads(ngym("info", wrapper["id"], "--json").out)
        assert set(about["arguments"]) <= set(about["meaning"]), wrapper["id"]
    text = ngym("info", "side_bias").out
    for piece in ("block_dur", "Trials in a block", "order", "doi.org/10.7554/eLife.63711"):
        assert piece in text
    assert "One of mean_action, random" in ngym("info", "MatchingPenny-v0").out  # without the marks of code


@pytest.mark.parametrize(
    "arguments", [["tags", "--obs", "image"], ["tasks", "--action", "9x9"], ["algs", "--sort", "seed"]]
)
def test_filters_that_do_not_apply_are_refused(ngym, arguments):
    result = ngym("list", *arguments)
    assert (result.code, result.out) == (2, "")
    assert result.err.count("\n") == 1


def test_help_is_printed_as_it_was_written():
    """Rich reads ``:A:`` as a picture and ``[x]`` as a colour."""
    group = typer.main.get_command(app)
    texts = [group.epilog, group.help]
    for command in (group.get_command(None, name) for name in group.list_commands(None)):
        texts += [command.help, *(getattr(parameter, "help", None) for parameter in command.params)]
        texts += [getattr(parameter, "rich_help_panel", None) for parameter in command.params]
    assert len(texts) > 50
    for text in filter(None, texts):
        assert Text.from_markup(text).plain == text


def test_tasks_are_listed_by_the_learner_that_learns_them(monkeypatch):
    rows = {"GoNogo-v0": 9, "NBack-v0": 5}
    created = {id_: per_task.LineResult(1, 1.0, 10, reached, 1.0, 0.95) for id_, reached in rows.items()}
    monkeypatch.setattr(per_task, "measurements", lambda: {"ctrnn": created})
    (row,) = listing.tasks(learned_by="ctrnn")
    assert (row["id"], row["learned by"]) == ("GoNogo-v0", "9 of 10 seeds")
    assert row["line"] == "ngym run --task GoNogo-v0 --network ctrnn"
    assert listing.tasks(learned_by="gru") == []
    with pytest.raises(UserError, match="ctrnn"):
        listing.tasks(learned_by="ctrn")


def test_a_task_is_learned_by_its_default_algorithm_where_its_default_line_learns(monkeypatch):
    rows = {id_: per_task.LineResult(1, 1.0, 10, 10, 1.0, 0.95) for id_ in ("GoNogo-v0", "yang19.go-v0")}
    monkeypatch.setattr(per_task, "measurements", lambda: {"default": rows})
    for algorithm, id_ in (("recurrent_ppo", "GoNogo-v0"), ("supervised", "yang19.go-v0")):
        (row,) = listing.tasks(learned_by=algorithm)
        assert (row["id"], row["line"]) == (id_, f"ngym run --task {id_} --alg {algorithm}")


def test_several_tasks_list_the_arguments_of_the_session_and_of_each(ngym):
    result = json.loads(ngym("info", "yang19.go-v0+yang19.dm1-v0", "--json").out)
    assert {"dim_ring", "cohs", "rule_input", "instructions", "held_out"} <= set(result["arguments"])
    assert result["arguments"]["rule_input"] is True and "Tasks never presented" in result["meaning"]["held_out"]
