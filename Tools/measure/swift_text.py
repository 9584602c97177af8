"""Separates the comments, the string literals and the code of a Swift file."""

import re
from dataclasses import dataclass

OPENING = re.compile(r'//|/\*|#*"')
BLOCK_EDGE = re.compile(r'/\*|\*/')
# A regular expression between slashes, on one line. A space after the first slash means division.
REGEX_LITERAL = re.compile(r'(?<=[(=,:\s{])/(?![\s/*])(?:\\.|\[[^\]\n]*\]|[^/\\\n\[])+/(?=[\s).,\]}]|$)', re.M)


@dataclass
class Comment:
    """One comment: a `//` comment to the end of its line, or a `/* */` comment."""

    start: int
    end: int
    # The number of its first line, from 1.
    line: int
    # Whether only white space stands before it on its line.
    is_alone: bool
    text: str

    @property
    def is_doc(self):
        return self.text.startswith(('///', '/**'))


class SwiftText:
    """The text of one file, its comments, the contents of its string literals, and `code`.

    `code` has the length and the line breaks of the text. Comments, the contents of string literals and
    regular expressions are spaces in it, so that a search finds code alone and an offset means the same place.
    """

    def __init__(self, text):
        self.text = text
        self.comments = []
        # (offset, contents) of each string literal.
        self.literals = []
        self._code = list(text)
        self._read(0, closing=None)
        for literal in REGEX_LITERAL.finditer(''.join(self._code)):
            self._blank(literal.start() + 1, literal.end() - 1)
        self.code = ''.join(self._code)
        self.lines = text.split('\n')
        if self.lines and not self.lines[-1]:
            self.lines.pop()
        self.code_lines = self.code.split('\n')[:len(self.lines)]

    def line_of(self, offset):
        """Returns the number of the line at an offset, from 1."""
        return self.text.count('\n', 0, offset) + 1

    def _blank(self, start, end):
        for index in range(start, min(end, len(self._code))):
            if self._code[index] != '\n':
                self._code[index] = ' '

    def _read(self, at, closing):
        """Reads code from `at` to the end, or to the parenthesis that closes an interpolation; returns where it ends."""
        text, depth = self.text, 0
        while True:
            found = OPENING.search(text, at)
            if closing:
                edge = re.compile(r'[()]').search(text, at)
                if edge and (not found or edge.start() < found.start()):
                    depth += 1 if edge.group() == '(' else -1
                    at = edge.end()
                    if depth < 0:
                        return at
                    continue
            if not found:
                return len(text)
            if found.group() == '//':
                end = text.find('\n', found.start())
                at = len(text) if end < 0 else end
                self._comment(found.start(), at)
            elif found.group() == '/*':
                at = self._block_end(found.end())
                self._comment(found.start(), at)
            else:
                at = self._string(found.start(), found.group())

    def _comment(self, start, end):
        line_start = self.text.rfind('\n', 0, start) + 1
        alone = not self.text[line_start:start].strip()
        self.comments.append(Comment(start, end, self.line_of(start), alone, self.text[start:end]))
        self._blank(start, end)

    def _block_end(self, at):
        depth = 1
        while depth:
            edge = BLOCK_EDGE.search(self.text, at)
            if not edge:
                return len(self.text)
            depth += 1 if edge.group() == '/*' else -1
            at = edge.end()
        return at

    def _string(self, start, opening):
        """Reads the literal that begins at `start`; returns where it ends."""
        text, hashes = self.text, opening[:-1]
        quotes = '"""' if text.startswith('"""', start + len(hashes)) else '"'
        first = at = start + len(hashes) + len(quotes)
        end_mark, escape = quotes + hashes, '\\' + hashes
        while at < len(text):
            if text.startswith(end_mark, at):
                self.literals.append((first, text[first:at]))
                self._blank(first, at)
                return at + len(end_mark)
            if text.startswith(escape, at):
                at += len(escape)
                at = self._read(at + 1, closing=')') if text.startswith('(', at) else at + 1
            elif quotes == '"' and text[at] == '\n':
                break
            else:
                at += 1
        self._blank(first, at)
        return at
