"""What there is, in words."""

from neurogym.utils.info import show_all_tags, show_all_tasks, show_all_wrappers, show_info

import neurogym as ngym

show_all_tasks(tag="working memory")
show_all_wrappers()
show_all_tags()
show_info("GoNogo-v0")
show_info(ngym.make("yang19.dm1-v0"))
show_info("Monitor-v0")
ngym.info.show_info("PassReward-v0")
