"""A notebook with parts of its own, executed by a kernel; `tests/docs/test_tutorials.py` runs the tutorial."""

from __future__ import annotations

import nbformat
from nbclient import NotebookClient

PREPARE = "import torch\nfrom torch import nn\nimport ngym_cli as nc\nGAIN = 0.9"
CLASSES = """
class Base(nc.Cell):
    def __init__(self, inputs, units):
        super().__init__(inputs, units)
        self.a, self.b = nn.Linear(inputs, units), nn.Linear(units, units)

class Mine(Base):
    def step(self, x, state):
        return (torch.tanh(self.a(x) + GAIN * self.b(state[0])),)
"""
TRAIN = """
run = nc.train("RDM-v0", network=Mine, timesteps=2000, units=8, name="first")
assert run.config.network.startswith("ngym_parts/mine_") and run.status == "finished"
run
"""
INTERRUPT = """
import signal, threading
threading.Timer(1.5, lambda: signal.raise_signal(signal.SIGINT)).start()
cut = nc.train("RDM-v0", network=Mine, timesteps=5e6, units=8, checkpoint_every=2000)
assert cut.status == "interrupted", cut
cut
"""
ERROR = """
try:
    nc.train("RDM-v0", network="lsmt")
except nc.UserError as error:
    said = str(error)
assert "did you mean 'lstm'" in said
"""


def execute(cells, folder):
    """Run cells in a kernel; return the executed notebook."""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    return NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(folder)}}).execute()


def outputs(notebook, kind):
    return [out["data"][kind] for cell in notebook.cells for out in cell.outputs if kind in out.get("data", {})]


def test_classes_of_a_notebook_train_and_an_interruption_leaves_a_run(tmp_path):
    notebook = execute([PREPARE, CLASSES, TRAIN, ERROR, INTERRUPT], tmp_path)
    assert not any(" of 2,000 steps" in text for text in outputs(notebook, "text/html"))  # nothing is left of it
    assert not any("━" in text for text in outputs(notebook, "text/html"))
    assert any("<Run runs/RDM-v0" in text for text in outputs(notebook, "text/plain"))
    (saved,) = (tmp_path / "ngym_parts").glob("*.py")
    assert "GAIN = 0.9" in saved.read_text() and "class Base" in saved.read_text()


def test_pages_errors_and_figures_in_a_notebook_are_one_output_each(tmp_path):
    cells = ["import ngym_cli as nc", "nc.info('RDM-v0')", "nc.list('tasks', 'rdm')", "nc.train(learning_rate=1e-3)"]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    resources = {"metadata": {"path": str(tmp_path)}}
    NotebookClient(notebook, timeout=300, allow_errors=True, resources=resources).execute()
    page, table, error = (cell.outputs for cell in notebook.cells[1:])
    assert len(page) == 1 and "ceiling" in page[0].data["text/html"] and len(table) == 1
    (line,) = error[0].traceback
    assert line == "UserError: 'learning_rate' is an entry of hyperparameters: hyperparameters={'learning_rate': 0.001}"
