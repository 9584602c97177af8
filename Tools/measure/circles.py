"""Finds circles of files that need each other: circles.py DIRECTORY..., such as Sources/SpoolProxy.

A file needs another one when its code names a type that the other declares, at any depth but for private ones and
those with a name that several files declare. Extensions of a type belong to the file that they stand in, so their
methods make no edge. Prints each circle, the largest first, with its lines. `measure.py --check` uses it.
"""

import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from swift_text import SwiftText  # noqa: E402

TYPE = re.compile(r'^([^\n{]*?)\b(?:struct|class|enum|protocol|actor|typealias)\s+([A-Z]\w*)', re.M)
WORD = re.compile(r'\b[A-Z]\w*\b')


def edges(files):
    """Returns the files that each file needs."""
    code = {file: SwiftText(file.read_text()).code for file in files}
    homes = {}
    for file, text in code.items():
        for modifiers, name in TYPE.findall(text):
            if not re.search(r'\b(file)?private\b', modifiers):
                homes.setdefault(name, set()).add(file)
    return {
        file: {next(iter(homes[word])) for word in set(WORD.findall(text)) if len(homes.get(word, ())) == 1} - {file}
        for file, text in code.items()
    }


def circles(graph):
    """Returns the sets of files that reach each other (Tarjan's algorithm), the largest first."""
    found, order, low, stack = [], {}, {}, []

    def visit(node):
        order[node] = low[node] = len(order)
        stack.append(node)
        for other in graph[node]:
            if other not in order:
                visit(other)
                low[node] = min(low[node], low[other])
            elif other in stack:
                low[node] = min(low[node], order[other])
        if low[node] == order[node]:
            at = stack.index(node)
            found.append(stack[at:])
            del stack[at:]

    for node in graph:
        if node not in order:
            visit(node)
    return sorted((circle for circle in found if len(circle) > 1), key=len, reverse=True)


def report(directory):
    """Returns the lines of a report: each circle of the directory, with the files that each file needs."""
    found = []
    graph = edges(sorted(Path(directory).rglob('*.swift')))
    for circle in circles(graph):
        lines = sum(len(file.read_text().splitlines()) for file in circle)
        found.append(f'{directory}: {len(circle)} files need each other, {lines} lines')
        for file in sorted(circle):
            inside = sorted(other.stem for other in graph[file] & set(circle))
            found.append(f'  {file.relative_to(directory)} needs {", ".join(inside)}')
    return found


if __name__ == '__main__':
    for argument in sys.argv[1:]:
        print('\n'.join(report(argument)))
