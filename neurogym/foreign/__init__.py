"""Files of others: read within limits, and in a process of their own where a library may crash on a damaged file.

Belongs here: what turns bytes of a stranger's file into arrays and plain data, whatever they mean.
"""
