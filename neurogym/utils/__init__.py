"""Random durations, schedules, data sets, plotting and other helpers."""
