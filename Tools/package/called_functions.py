"""Prints the functions of a program that were called in runs under callgrind, by their symbols, in the order of their names.

    python3 Tools/package/called_functions.py PROFILE... > FILE

The profiles need `--demangle=no --compress-strings=no` (Callgrind Format Specification). The program is the file that has the name `spool`;
functions of shared libraries are left out.
"""

import re
import sys


def called(path):
    program = False
    with open(path, encoding="utf-8", errors="replace") as profile:
        for line in profile:
            if line.startswith("ob="):
                program = line.rstrip().endswith("/spool")
            elif program and line.startswith("fn="):
                # A function that calls itself has a line for each depth, and a place without a symbol has its address.
                name = re.sub(r"'\d+$", "", line[3:].strip())
                if name and not name.startswith(("0x", "(")):
                    yield name


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    print("# The functions that a server calls, for the linker. Written by scripts/order-functions.")
    print("\n".join(sorted({name for path in sys.argv[1:] for name in called(path)})))


main()
