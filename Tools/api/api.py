"""Lists the public API of modules from their symbol graphs, one declaration a line.

    api.py GRAPHS PRODUCT=MODULE,MODULE... --into DIRECTORY      writes DIRECTORY/PRODUCT.txt for each product
    api.py GRAPHS PRODUCT=MODULE,MODULE... --check DIRECTORY     prints the differences, and exits with 1 if there are any

GRAPHS is the directory that `swift symbolgraph-extract` filled.
"""

import difflib
import glob
import json
import os
import re
import sys

HEADER = "# The public API of {product}, by module. Written by scripts/api; a test compares it with the code.\n"


def declaration(symbol):
    """The declaration in one line, without attributes that concern only the compiler."""
    text = "".join(part["spelling"] for part in symbol["declarationFragments"])
    return re.sub(r"\s+", " ", text).strip()


def lines(graphs, module):
    """The lines of a module, with the declarations that it adds to types of other modules."""
    found, names, conformances = set(), {}, {}
    for path in sorted(glob.glob(os.path.join(graphs, module + ".symbols.json")) + glob.glob(os.path.join(graphs, module + "@*.symbols.json"))):
        with open(path) as file:
            graph = json.load(file)
        for symbol in graph["symbols"]:
            if symbol["accessLevel"] not in ("public", "open"):
                continue
            names[symbol["identifier"]["precise"]] = ".".join(symbol["pathComponents"])
            owner = ".".join(symbol["pathComponents"][:-1])
            found.add((owner + ": " if owner else "") + declaration(symbol))
        for relation in graph["relationships"]:
            if relation["kind"] == "conformsTo":
                protocol = relation.get("targetFallback") or names.get(relation["target"]) or relation["target"]
                conformances.setdefault(relation["source"], set()).add(protocol.rpartition("Swift.")[2] or protocol)
    for source, protocols in conformances.items():
        if source in names:
            found.add(f"{names[source]} conforms to {', '.join(sorted(protocols))}")
    return sorted(found)


def listing(graphs, product, modules):
    """The text of a product's file."""
    parts = [HEADER.format(product=product)]
    for module in modules:
        parts.append(f"\n## {module}\n\n" + "".join(line + "\n" for line in lines(graphs, module)))
    return "".join(parts)


def main(arguments):
    if len(arguments) < 4 or arguments[-2] not in ("--into", "--check"):
        sys.exit(__doc__)
    graphs, directory, differs = arguments[0], arguments[-1], False
    for item in arguments[1:-2]:
        product, _, modules = item.partition("=")
        text = listing(graphs, product, modules.split(","))
        path = os.path.join(directory, product + ".txt")
        if arguments[-2] == "--into":
            with open(path, "w") as file:
                file.write(text)
            continue
        with open(path) as file:
            old = file.read()
        changes = difflib.unified_diff(old.splitlines(), text.splitlines(), path, "the code", lineterm="", n=0)
        for change in changes:
            print(change)
            differs = True
    if differs:
        sys.exit(1)


main(sys.argv[1:])
