"""Lists the public API of modules from their symbol graphs, one declaration a line.

    api.py GRAPHS PRODUCT... --into DIRECTORY      writes DIRECTORY/PRODUCT.txt for each product
    api.py GRAPHS PRODUCT... --check DIRECTORY     prints the differences, and exits with 1 if there are any

GRAPHS is the directory that `swift symbolgraph-extract` filled. A list has the module of the product, and what its Exports.swift exports
of modules that are not listed whole as another of the products: a module, or single types of one.
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


EXPORT = re.compile(r"^@_exported public import (?:\w+ )?(\w+)(?:\.(\w+))?$", re.M)


def exports(product):
    """The modules that a product exports, each with the names of its exported types, or None for all."""
    path = os.path.join("Sources", product, "Exports.swift")
    if not os.path.exists(path):
        return {}
    with open(path) as file:
        found = {}
        for module, name in EXPORT.findall(file.read()):
            found[module] = found.get(module, set()) | {name} if name else None
    return found


def lines(graphs, module, types=None):
    """The lines of a module or of some of its types, with the declarations that it adds to types of other modules."""
    found, names, conformances = set(), {}, {}
    for path in sorted(glob.glob(os.path.join(graphs, module + ".symbols.json")) + glob.glob(os.path.join(graphs, module + "@*.symbols.json"))):
        with open(path) as file:
            graph = json.load(file)
        for symbol in graph["symbols"]:
            if symbol["accessLevel"] not in ("public", "open") or types is not None and symbol["pathComponents"][0] not in types:
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


def listing(graphs, product, products):
    """The text of a product's file."""
    parts = [HEADER.format(product=product)]
    for module, types in {product: None, **exports(product)}.items():
        if module == product or types is not None or module not in products:
            parts.append(f"\n## {module}\n\n" + "".join(line + "\n" for line in lines(graphs, module, types)))
    return "".join(parts)


def main(arguments):
    if len(arguments) < 4 or arguments[-2] not in ("--into", "--check"):
        sys.exit(__doc__)
    graphs, directory, differs = arguments[0], arguments[-1], False
    products = arguments[1:-2]
    for product in products:
        text = listing(graphs, product, products)
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
