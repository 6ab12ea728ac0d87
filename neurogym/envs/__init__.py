"""Every task: native, contributed, image-based and the collections.

Belongs here: one task per file, their registry, their contract. May use: everything but `ceilings` and `info`.
"""

from neurogym.envs.registration import all_envs, all_tags, get_collection, make, register

__all__ = ["all_envs", "all_tags", "get_collection", "make", "register"]
