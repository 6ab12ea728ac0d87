"""Files of trials in the formats of laboratories, single files, several files and folders, as columns."""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from neurogym.behaviour import arrays, entries, structures
from neurogym.behaviour.conversion import from_arrow, from_mapping, from_records, name_of_groups
from neurogym.behaviour.delimited import line_of, open_binary, read_text
from neurogym.behaviour.entries import TableError, check_number_of_columns, plain
from neurogym.behaviour.questions import say
from neurogym.behaviour.sources import Source, joined
from neurogym.behaviour.vocabulary import NOT_READ
from neurogym.foreign import isolation, npz
from neurogym.foreign.links import leads_out

if TYPE_CHECKING:
    from pandas import DataFrame


#: Entity of a BIDS file name, and the beginning of the names of files in the format ALF.
_ENTITY = re.compile(r"(?:^|_)([a-zA-Z]+)-([a-zA-Z0-9+.]+)")
ALF = ("_ibl_trials.", "trials.")
ALF_FOLDER = re.compile(r"(?:([^/\\]+)[/\\]Subjects[/\\])?([^/\\]+)[/\\](\d{4}-\d\d-\d\d)[/\\](\d+)$")
_NAME_AND_DATE = re.compile(r"(.+?)[_ -](\d{4}-?\d\d-?\d\d)")
REVISION = re.compile(r"#[^#/\\\\]+#")
TEXT = (".csv", ".tsv", ".tab", ".txt", ".dat")
ARROW = (".parquet", ".pq", ".pqt", ".feather", ".arrow", ".ft")
HDF5 = (".nwb", ".h5", ".hdf5")
FORMATS = (*TEXT, *ARROW, *HDF5, ".mat", ".json", ".jsonl", ".npz", ".xlsx")
#: Format by the first bytes of a file, and by the ending of its name.
MAGIC = {b"\x89HDF": "hdf5", b"PAR1": "parquet", b"ARROW1": "feather", b"FEA1": "feather", b"MATLAB": "matlab"}
ENDINGS = {".json": "json", ".jsonl": "json", ".npz": "npz", ".xlsx": "excel", ".xlsm": "excel"}
PICKLE = tuple(bytes([0x80, version]) for version in range(2, 6))
HOLDERS = ("sessions", "trials", "data")  #: keys of JSON that hold rows
LARGEST_JSON = 2**30  #: bytes


def read_source(path: Path | Sequence[Path]) -> Source:
    """Read a file, a folder or several of these.

    Raises:
        TableError: if there is no table or it cannot be read; the message begins with the file.
    """
    paths = [Path(path)] if isinstance(path, str | Path) else list(map(Path, path))
    files = [file for each in paths for file in _files(each)]
    if len(files) == 1:
        return _read(files[0], alone=len(paths) == 1 and paths[0].is_file())
    return joined([(file, _read(file, alone=False)) for file in files])


def _files(path: Path) -> list[Path]:
    """Return the tables of a folder, or the file itself; a folder in the format ALF counts as one table.

    Raises:
        TableError: if there is none, or a file of the folder is a link that leads out of the folder.
    """
    if path.is_file():
        return [_alf_folder(path)] if path.name.startswith(ALF) and path.suffix == ".npy" else [path]
    if not path.is_dir():
        raise TableError(f"no such table of trials: {path}")
    files = _files_of_folder(path)
    for file in files:
        _refuse_link(file, path)
    return files


def _refuse_link(file: Path, folder: Path) -> None:
    if leads_out(file, folder):
        raise TableError(f"{file} is a link that leads out of {folder}; replace it by a copy of the file")


def _files_of_folder(path: Path) -> list[Path]:
    alf = sorted({_alf_folder(each) for each in path.rglob("*trials.*") if _is_alf(each)})
    if alf:
        return alf
    bids = sorted(path.rglob("*_beh.tsv")) or sorted(path.rglob("*_events.tsv"))
    if bids:
        return bids
    every = sorted(
        file
        for file in path.rglob("*")
        if suffix_of(file) in FORMATS and file.is_file() and not file.name.startswith((".", "participants."))
    )
    kinds = {suffix_of(file) for file in every}
    if not every:
        raise TableError(f"{path}: found no table, expected files such as .csv, .tsv, .parquet, .mat, .nwb or .json")
    if len(kinds) > 1 and kinds != {".csv", ".tsv"}:
        raise TableError(f"{path}: found files of several formats ({', '.join(sorted(kinds))}); name those to read")
    return every


def _is_alf(file: Path) -> bool:
    return file.name.startswith(ALF) and file.suffix in (".npy", ".pqt")


def _alf_folder(file: Path) -> Path:
    """Return the folder of a session in the format ALF, above folders of revisions such as ``#2025-03-03#``."""
    return file.parent.parent if REVISION.fullmatch(file.parent.name) else file.parent


def _read(path: Path, alone: bool) -> Source:
    try:
        source = _read_folder(path) if path.is_dir() else _READERS[_kind(path)](path)
    except TableError as error:
        raise TableError(f"{path}: {error}") from None
    except (OSError, KeyError, ValueError, RuntimeError, MemoryError, RecursionError, EOFError, zlib.error) as error:
        message = " ".join(str(error).split()) or type(error).__name__
        raise TableError(f"{path}: cannot be read: {message}; the file is damaged or incomplete") from None
    if source.table.empty:
        raise TableError(f"{path}: found no rows, expected one for each trial")
    _add_names(source, path, alone)
    return source


def suffix_of(path: Path) -> str:
    """Return the ending of the name of a file in lower case, without that of gzip."""
    return Path(path.name.lower().removesuffix(".gz")).suffix


def _kind(path: Path) -> str:
    with open_binary(path) as file:
        start = file.read(8)
    ending = suffix_of(path)
    kind = next((kind for magic, kind in MAGIC.items() if start.startswith(magic)), None)
    kind = "matlab" if ending == ".mat" else kind
    if kind is not None and path.suffix.lower() == ".gz":
        raise TableError("found a packed file of a binary format, expected CSV, TSV or JSON in .gz; unpack it (gunzip)")
    kind = kind or ("json" if start.lstrip()[:1] in (b"[", b"{") else ENDINGS.get(ending))
    if kind is not None:
        return kind
    if start.startswith(PICKLE) or ending in (".pkl", ".pickle"):
        raise TableError(say("pickle", name=path.name, stem=path.stem))
    if ending in NOT_READ:
        name, reader = NOT_READ[ending]
        raise TableError(say("not_read", program=name, python=reader.format(path.name)))
    if start.startswith(b"PK"):
        raise TableError("found an archive, expected a table; unpack it")
    if path.suffix.lower() in (*HDF5, *ARROW):
        raise TableError(f"the content is not that of a file {path.suffix}")
    return "text"


def _text(path: Path) -> Source:
    columns, form, left_out = read_text(path)

    def words(row: int) -> str:
        line = line_of(path, form, row)
        return "" if line is None else f"line {line}"

    return Source(columns, form.describe(), left_out, line_of=words)


def _arrow(path: Path) -> Source:
    import pyarrow as pa
    from pyarrow import feather, parquet

    try:
        form = "Parquet" if _kind(path) == "parquet" else "Feather"
        if form == "Parquet":
            check_number_of_columns(parquet.read_metadata(path).num_columns)
        table = parquet.read_table(path) if form == "Parquet" else feather.read_table(path)
        table.validate(full=True)
        return Source(from_arrow(table), form)
    except pa.ArrowException as error:
        raise TableError(f"{' '.join(str(error).split())}; the file is damaged or incomplete") from None


def _json(path: Path) -> Source:
    with open_binary(path) as file:
        content = file.read(LARGEST_JSON + 1)
    if len(content) > LARGEST_JSON:
        raise TableError("found more than 1 GB of JSON; write the table as CSV or Parquet")
    text = content.decode("utf-8-sig")
    try:
        data = json.loads(text)
    except json.JSONDecodeError:
        try:
            data = [json.loads(line) for line in text.splitlines() if line.strip()]
        except json.JSONDecodeError as error:
            raise TableError(f"no valid JSON: {error}") from None
    return Source(_from_json(data), "JSON")


def _has_rows(row: Mapping[str, Any], key: str) -> bool:
    """Return whether an entry of a mapping is a list of mappings."""
    return isinstance(row.get(key), list) and all(isinstance(each, dict) for each in row[key])


def _from_json(data: Any) -> DataFrame:
    if isinstance(data, list) and data and all(isinstance(rows, list) for rows in data):
        data = {str(k): rows for k, rows in enumerate(data, 1)}
    if isinstance(data, dict) and "trials" not in data and data and all(_has_rows(data, name) for name in data):
        group = name_of_groups(data)
        of_group = {name: {group: name} if len(data) > 1 else {} for name in data}
        data = [{**of_group[name], **row} for name, rows in data.items() for row in rows]
    if isinstance(data, list) and all(isinstance(row, dict) for row in data):
        key = next((each for each in HOLDERS if data and all(_has_rows(row, each) for row in data)), None)
        if key is None:
            return from_records(data)
        return _from_json([{**{k: v for k, v in row.items() if k != key}, **each} for row in data for each in row[key]])
    if isinstance(data, dict):
        if any(_has_rows(data, key) for key in HOLDERS):
            return _from_json([{k: v for k, v in data.items() if k in HOLDERS or not isinstance(v, list | dict)}])
        if data and all(isinstance(values, list) for values in data.values()):
            return from_mapping(data)
    raise TableError("found JSON of another form, expected a list of trials or a list of values for each column")


def _matlab(path: Path) -> Source:
    columns, form, notes = structures.read_matlab(path)
    return Source(columns, form, notes=notes)


def _hdf5(path: Path) -> Source:
    trials = structures.read_trials(path)
    if trials is not None:
        return Source(trials, "NWB", identity=structures.identity_of(path))
    return Source(structures.largest_table(structures.read_structures(path)), "HDF5")


def _npz(path: Path) -> Source:
    columns, notes = arrays.read_npz(path)
    return Source(columns, "NumPy", notes=notes)


def _excel(path: Path) -> Source:
    sheets, others = arrays.read_excel(path)
    left_out = {"lines above the names of columns": sum(above for _, _, above in sheets)}
    notes = [f"the first sheet, {sheets[0][0]}, is read; others are {', '.join(others[:6])}"] if others else []
    tables = [(Path(title), Source(table, "Excel")) for title, table, _ in sheets]
    source = joined(tables) if len(tables) > 1 else tables[0][1]
    return replace(source, left_out={why: n for why, n in left_out.items() if n}, notes=notes, line_of=None)


#: Readers whose libraries crash on some damaged files, and the module that takes longest to import.
_CRASHING: dict[str, tuple[Callable[[Path], Source], str]] = {
    "feather": (_arrow, "pandas"),
    "matlab": (_matlab, "scipy.io"),
    "hdf5": (_hdf5, "h5py"),
}


def _isolated(path: Path) -> Source:
    """Read a file in a process of its own."""
    needs = [__name__, _CRASHING[_kind(path)][1]]
    reply, contents = isolation.call(f"{__name__}:_read_here", path, needs=needs)
    if "refused" in reply:
        raise TableError(reply["refused"])
    columns = {
        name: entries.of_values(values) if words is None else entries.of_words(words, values)
        for (name, words), values in zip(reply["columns"], contents, strict=True)
    }
    return Source(from_mapping(columns), reply["form"], notes=reply["notes"], identity=reply["identity"])


def _read_here(path: Path) -> isolation.Reply:
    """Return a table as plain data and arrays."""
    try:
        source = _CRASHING[_kind(path)][0](path)
    except TableError as error:
        return {"refused": str(error)}, []
    columns = [*source.table.items()]
    about = [(name, entries.words(column) if entries.is_words(column) else None) for name, column in columns]
    contents = [entries.codes(column) if entries.is_words(column) else column.to_numpy() for _, column in columns]
    known = {"form": source.form, "notes": source.notes, "identity": source.identity, "columns": about}
    return known, contents


_READERS: dict[str, Callable[[Path], Source]] = {
    "text": _text,
    "parquet": _arrow,
    "json": _json,
    "npz": _npz,
    "excel": _excel,
    **dict.fromkeys(_CRASHING, _isolated),
}


def _read_folder(folder: Path) -> Source:
    """Read a session in the format ALF: one Parquet table, or an array for each column; the last revision of each."""
    revisions = sorted((each for each in folder.iterdir() if REVISION.fullmatch(each.name)), reverse=True)
    folders = [*revisions, folder]
    tables = [file for each in folders for file in sorted(each.glob("*trials.table*.pqt")) if _is_alf(file)]
    if tables:
        _refuse_link(tables[0], folder)
        form, columns = "ALF, Parquet", dict(_arrow(tables[0]).table.items())
    else:
        form, columns = "ALF, arrays", {}
    for file in (file for each in folders for file in sorted(each.glob("*trials.*.npy")) if _is_alf(file)):
        _refuse_link(file, folder)
        name = file.name.partition("trials.")[2].split(".")[0]
        for each, column in arrays.columns_of(name, npz.read_array(file)).items():
            columns.setdefault(each, column)
    lengths = {name: len(column) for name, column in columns.items()}
    if len(set(lengths.values())) > 1:
        raise TableError(f"the arrays differ in length: {', '.join(f'{k} {n}' for k, n in lengths.items())}")
    return Source(from_mapping(columns), form)


def _add_names(source: Source, path: Path, alone: bool) -> None:
    """Add subject and session that the name of a file says, where the table does not say them."""
    n = len(source.table)
    folder = path if path.is_dir() else _alf_folder(path) if _is_alf(path) else None
    labels: dict[str, str] = {}
    if folder is not None:
        where = folder.resolve()
        match = ALF_FOLDER.search(str(where.parent if where.name == "alf" else where))
        named = _NAME_AND_DATE.fullmatch(where.name)
        if match:
            labels = {"subject": match[2], "session": f"{match[3]}/{match[4]}"}
        elif named:
            labels = {"subject": named[1], "session": named[2]}
    else:
        entities = {key.lower(): value for key, value in _ENTITY.findall(path.name.split(".")[0])}
        if "sub" in entities:
            labels["subject"] = entities["sub"]
            runs = [entities[key] for key in ("ses", "run") if key in entities]
            if runs:
                labels["session"] = "/".join(runs)
            if "task" in entities and not alone:
                labels["task"] = entities["task"]
            _add_participant(source, path, entities["sub"])
    names = {plain(name) for name in source.table}
    for name, word in labels.items():
        if name not in names:
            source.table[name] = entries.constant(word, n)
            source.names = (*source.names, name)


def _add_participant(source: Source, path: Path, subject: str) -> None:
    """Add the columns of ``participants.tsv`` of a BIDS data set for a subject."""
    for folder in path.resolve().parents[:4]:
        table = folder / "participants.tsv"
        if not table.is_file() or leads_out(table, folder):
            continue
        try:
            participants = read_text(table)[0]
        except TableError:
            return
        if "participant_id" not in participants:
            return
        rows = participants[participants["participant_id"].isin([subject, f"sub-{subject}"])]
        for name in rows.columns.difference(["participant_id", *source.table], sort=False) if len(rows) else ():
            value = entries.entry(rows[name], 0)
            if value is not None:
                source.table[name] = entries.of_values([value] * len(source.table))
        return
