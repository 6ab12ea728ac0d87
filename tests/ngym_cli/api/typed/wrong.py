"""Program with a mistake in each line, which type checkers find."""

import ngym_cli as nc

run = nc.train("RDM-v0", overwrite="yes")
run = nc.train("RDM-v0", timesteps="many")
run = nc.train("RDM-v0", nework="lstm")
run = nc.train("RDM-v0", reset_state="trail")
number: int = nc.load("latest").name
run.evaluate(lesoin=0.5)
run.evaluate(trials="few")
nc.evaluat(run)
nc.sweep(sed=range(3))
nc.plot(run, formt="pdf")
nc.fit("rat.csv", sedes=2)
