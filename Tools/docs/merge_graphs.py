"""Makes the symbol graphs of a directory those of one module, which exports the others.

    merge_graphs.py DIRECTORY MODULE
"""

import glob
import json
import os
import sys


def main(directory, module):
    for path in sorted(glob.glob(os.path.join(directory, "*.symbols.json"))):
        with open(path) as file:
            graph = json.load(file)
        owner = os.path.basename(path)[: -len(".symbols.json")]
        if "@" in owner:
            # Declarations that one of the modules adds to another one belong to the merged module.
            os.remove(path)
            path = os.path.join(directory, f"{module}@{owner.replace('@', '-')}.symbols.json")
        graph["module"]["name"] = module
        with open(path, "w") as file:
            json.dump(graph, file)


if len(sys.argv) != 3:
    sys.exit(__doc__)
main(*sys.argv[1:])
