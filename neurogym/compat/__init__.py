"""What scripts written for NeuroGym expect beyond this package's own names: old paths, names and members."""
