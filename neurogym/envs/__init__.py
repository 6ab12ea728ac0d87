"""Every task: native, contributed, image-based and the collections."""

from neurogym.envs.registration import all_envs, all_tags, get_collection, make, register

__all__ = ["all_envs", "all_tags", "get_collection", "make", "register"]
