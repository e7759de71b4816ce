"""The program `basalt`, which comes with the package."""

import os
import sys


def main() -> None:
    """Becomes the program."""
    program = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin", "basalt")
    os.execv(program, [program, *sys.argv[1:]])


if __name__ == "__main__":
    main()
