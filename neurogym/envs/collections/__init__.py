"""Collections of tasks: name to task functions, in published order."""

from itertools import product

_YANG19 = (
    "go",
    "rtgo",
    "dlygo",
    "anti",
    "rtanti",
    "dlyanti",
    "dm1",
    "dm2",
    "ctxdm1",
    "ctxdm2",
    "multidm",
    "dlydm1",
    "dlydm2",
    "ctxdlydm1",
    "ctxdlydm2",
    "multidlydm",
    "dms",
    "dnms",
    "dmc",
    "dnmc",
)
_DELAYED = tuple(name for name in _YANG19 if "dly" in name or name in ("dms", "dnms", "dmc", "dnmc"))

COLLECTIONS: dict[str, tuple[str, ...]] = {
    "perceptualdecisionmaking": ("ibl20", "roitman02"),
    "yang19": _YANG19,
    "modcog": tuple(
        name + shifted + moved
        for shifted, moved in product(("", "intr", "intl"), ("", "seqr", "seql"))
        for name in (_DELAYED if shifted else _YANG19)
    ),
}

#: Collections whose tasks are compositions of others: `get_collection` lists them, lists of all tasks do not.
COMPOSED = ("modcog",)
