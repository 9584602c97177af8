"""Writes the Swift snippets of Markdown pages and of doc comments as files that a compiler can check.

    snippets.py DIRECTORY PAGE...

A snippet is a fenced block marked `swift`. It becomes the body of a function, or stands at file scope if it has an extension or a
test. Its imports move to the top. A line `<!-- not compiled: REASON -->` right above the fence leaves a snippet out. The compiler names
errors by page and line.
"""

import os
import re
import sys

IMPORTS = ["Foundation", "Rangeable", "Spool", "SpoolStore", "SpoolBlobs", "SpoolOrigin", "SpoolDASH", "SpoolAdoption", "SpoolProxy", "SpoolTesting", "AVFoundation", "SpoolAVFoundation", "SpoolBackground", "Testing"]
FENCE = re.compile(r"^```swift\n(.*?)^```", re.S | re.M)
AT_FILE_SCOPE = re.compile(r"^(extension|protocol|@Test|@Suite)\b", re.M)


def snippets(page):
    """The number of the first line and the text of each snippet of a page, or of a source file's doc comments."""
    with open(page) as file:
        text = file.read()
    if page.endswith(".swift"):
        lines = [re.match(r"\s*/// ?(.*)", line) for line in text.split("\n")]
        text = "\n".join(line.group(1) if line else "" for line in lines)
    for match in FENCE.finditer(text):
        if not re.search(r"<!-- not compiled: [^\n]+ -->\n$", text[: match.start()]):
            yield text[: match.start()].count("\n") + 2, match.group(1)


def source(page, line, body, number):
    """A Swift file with one snippet."""
    imports = sorted(set(IMPORTS + re.findall(r"^import (\w+)\n", body, re.M)))
    body = re.sub(r"^import \w+$", "", body, flags=re.M)
    head = "".join(f"import {name}\n" for name in imports)
    place = f'#sourceLocation(file: "{page}", line: {line})\n'
    if AT_FILE_SCOPE.search(body):
        return head + place + body
    return f"{head}@MainActor func snippet{number}() async throws {{\n{place}{body}#sourceLocation()\n}}\n"


def main(directory, pages):
    number = 0
    for page in pages:
        for line, body in snippets(page):
            number += 1
            with open(os.path.join(directory, f"Snippet{number}.swift"), "w") as file:
                file.write(source(page, line, body, number))
    print(number)


if len(sys.argv) < 3:
    sys.exit(__doc__)
main(sys.argv[1], sys.argv[2:])
