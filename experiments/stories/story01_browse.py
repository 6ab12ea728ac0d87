"""Browse the catalogue: tasks, tags, wrappers, one task and one wrapper in detail."""

from common import arguments

import neurogym as ngym

arguments(__doc__)
ngym.info.show_all_tasks()
ngym.info.show_all_tags()
ngym.info.show_all_wrappers()
ngym.info.show_all_tasks(tag="timing")
ngym.info.show_info("PerceptualDecisionMaking-v0")
ngym.info.show_info(ngym.make("GoNogo-v0"))
ngym.info.show_info("Monitor-v0")
print(f"{len(ngym.all_envs())} native tasks, {len(ngym.all_wrappers())} wrappers, {len(ngym.all_tags())} tags")
