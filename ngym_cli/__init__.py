"""The experiment runner of ngym: configuration, training, recording, evaluation and figures behind one command."""
