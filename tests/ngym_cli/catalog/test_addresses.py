"""``ngym docs``, and the last line of ``ngym info``."""

from __future__ import annotations

import json
from email.message import Message

import pytest

from ngym_cli.catalog import addresses


@pytest.fixture
def built(tmp_path, monkeypatch):
    """A site with the page of one task."""
    (tmp_path / "tasks").mkdir()
    (tmp_path / "tasks" / "GoNogo-v0.html").write_text("x")
    (tmp_path / "index.html").write_text("x")
    monkeypatch.setattr(addresses, "BUILT", tmp_path)
    return tmp_path


@pytest.fixture
def published(monkeypatch):
    """A distribution that says where its site is."""
    message = Message()
    message["Project-URL"] = "Documentation, https://docs.example.org/ngym"
    monkeypatch.setattr(addresses.metadata, "metadata", lambda name: message)


@pytest.fixture
def nowhere(tmp_path, monkeypatch):
    monkeypatch.setattr(addresses, "BUILT", tmp_path / "none")
    monkeypatch.setattr(addresses.metadata, "metadata", lambda name: Message())


def test_a_built_page_is_found_by_any_name(built, ngym):
    where = (built / "tasks" / "GoNogo-v0.html").as_uri()
    assert ngym("docs", "GoNogo").out.strip() == where
    assert json.loads(ngym("docs", "GNG-v0", "--json").out)["address"] == where
    assert ngym("docs").out.strip() == (built / "index.html").as_uri()
    assert ngym("info", "GoNogo-v0").out.strip().splitlines()[-1] == f"page  {where}"


def test_without_a_built_page_the_published_one_is_said(published, tmp_path, monkeypatch, ngym):
    monkeypatch.setattr(addresses, "BUILT", tmp_path)
    address = "https://docs.example.org/ngym/"
    assert ngym("docs", "recurrent_ppo").out.strip() == f"{address}algorithms/recurrent_ppo.html"
    assert ngym("docs", "eval").out.strip() == f"{address}commands/eval.html"
    assert ngym("info", "pass_reward").out.strip().endswith(f"{address}wrappers/pass_reward.html")


def test_a_window_is_opened_only_where_there_is_a_screen(built, monkeypatch, ngym):
    opened = []
    monkeypatch.setattr(addresses.webbrowser, "open", opened.append)
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(addresses.sys, "platform", "linux")
    ngym("docs", "GoNogo")
    assert not opened
    monkeypatch.setenv("DISPLAY", ":0")
    ngym("docs", "GoNogo")
    assert opened == [(built / "tasks" / "GoNogo-v0.html").as_uri()]


def test_what_cannot_be_found_is_one_line(nowhere, ngym):
    for words, message in (
        (("docs",), "make docs"),
        (("docs", "GoNogo", "--json"), "make docs"),
        (("docs", "nosuch"), "did you mean"),
        (("docs", "recurent_ppo"), "did you mean 'recurrent_ppo'"),
        (("docs", "my_task.py:MyTask"), "ngym info explains it"),
    ):
        result = ngym(*words)
        assert result.code == 2 and message in result.err and len(result.err.splitlines()) == 1
    assert not ngym("info", "GoNogo-v0").out.strip().splitlines()[-1].startswith("page")


def test_without_a_site_the_text_of_a_page_is_printed(ngym, nowhere):
    for name, words in (
        ("GoNogo", ("GoNogo-v0", "withhold after a no-go stimulus")),
        ("recurrent_ppo", ("recurrent_ppo", "Schulman")),
        ("eval", ("Usage: ngym eval", "--lesion")),
    ):
        result = ngym("docs", name)
        assert result.code == 0 and all(word in result.out for word in words), result
