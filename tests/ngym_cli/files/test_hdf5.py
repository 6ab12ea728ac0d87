"""Files that may not grow, at any byte: an error of Python with the name of the file, never the end of the process."""

from __future__ import annotations

import subprocess
import sys

SCRIPT = """
import resource, sys
from pathlib import Path
import numpy as np
from ngym_cli.files.hdf5 import open_to_write

path, most = Path(sys.argv[1]), 1 << 20
sizes = [0, 1, 7, 100, 800, 1024, 2048, 3000, 4096, *range(5000, 60_000, 7919)]
ended = []
for size in [most, *sizes]:
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, most))
    path.unlink(missing_ok=True)
    try:
        with open_to_write(path) as (file, check):
            file.attrs["dt"] = 20.0
            data = file.create_dataset("a", (0, 8), "f4", maxshape=(None, 8), chunks=(64, 8))
            for k in range(30):
                data.resize(64 * (k + 1), axis=0)
                data[-64:] = np.full((64, 8), k)
                if size % 2:
                    check()
            file["offsets"] = np.arange(100)
        with open_to_write(path, "r+") as (file, check):
            file["spikes"] = file["a"][:] > 3
        ended.append(file)
    except OSError as error:
        assert error.filename == str(path) and error.errno == 27, error
assert len(ended) == 1, "a file that cannot be written counts as written"
import h5py
print("alive")
"""


def test_no_size_at_which_writing_ends_crashes(tmp_path):
    command = [sys.executable, "-c", SCRIPT, str(tmp_path / "a.h5")]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "alive\n", "")
