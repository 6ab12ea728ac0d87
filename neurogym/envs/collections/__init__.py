"""Collections of tasks: name to task functions, in published order."""

COLLECTIONS: dict[str, tuple[str, ...]] = {
    "perceptualdecisionmaking": ("ibl20", "roitman02"),
    "yang19": (
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
    ),
}
