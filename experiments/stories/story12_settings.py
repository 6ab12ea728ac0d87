"""Configure runs from a TOML file, a Python object or a dictionary."""

from common import arguments

import neurogym as ngym
from neurogym.wrappers import Monitor

chosen = arguments(__doc__)
file = chosen.out / "settings.toml"
file.write_text('[env]\nname = "FromFile"\n[monitor]\ninterval = 10\nverbose = false\n[monitor.plot]\ncreate = false\n')
quiet = {"interval": 10, "verbose": False, "plot": {"create": False}}
settings = {
    "file": ngym.Config(file, local_dir=chosen.out),
    "object": ngym.Config(local_dir=chosen.out, env={"name": "FromObject"}, monitor=quiet),
    "dictionary": {"local_dir": chosen.out, "env": {"name": "FromDictionary"}, "monitor": quiet},
}
for kind, config in settings.items():
    env = Monitor(ngym.make("GoNogo-v0"), config=config)
    env.reset(seed=chosen.seed)
    for _ in range(15 * 20):
        env.step(0)
    print(f"from a {kind}:", sorted(path.name for path in env.save_dir.glob("*.npz")), "in", env.save_dir)
