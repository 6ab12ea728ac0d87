"""Old ids and the present task, with parameters, that each stands for."""

from __future__ import annotations

from typing import Any

ALIASES: dict[str, tuple[str, dict[str, Any]]] = {
    "RDM-v0": ("PerceptualDecisionMaking-v0", {}),
    "RDM-v1": ("PerceptualDecisionMaking-v0", {}),
}
