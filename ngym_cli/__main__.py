"""Entry point of the ``ngym`` command and of ``python -m ngym_cli``."""

from ngym_cli.commands.app import main

if __name__ == "__main__":
    main()
