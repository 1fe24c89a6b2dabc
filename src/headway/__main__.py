"""`python -m headway`, and the command `headway`: little is loaded before a Ctrl-C ends it without a traceback."""

import sys


def main() -> None:
    """Load the command line and run it; a Ctrl-C meanwhile ends the process with the exit code of an interrupt."""
    try:
        from headway.cli.main import main as run
    except KeyboardInterrupt:
        sys.exit(130)
    run()


if __name__ == "__main__":
    main()
