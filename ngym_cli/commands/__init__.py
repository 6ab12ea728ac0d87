"""The commands of the command line, one file each, without logic of their own."""
