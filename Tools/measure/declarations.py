"""Finds the types, functions and documented declarations of a Swift file by its braces."""

import re
from dataclasses import dataclass

TYPE = re.compile(r'(?<![.\w`])(struct|class|enum|protocol|actor|extension)\s+(?!func\b|var\b|let\b|subscript\b)((?:`[^`\n]+`|[A-Za-z_]\w*)(?:\.[A-Za-z_]\w*)*)')
FUNCTION = re.compile(r'(?<![.\w`])(func\s+(?:`[^`\n]+`|[A-Za-z_]\w*|[^\s\w(]+)|init[?!]?\s*(?=[(<])|deinit\b|subscript\s*(?=[(<]))')
MODIFIERS = (
    r'(?:(?:@\w+(?:\([^)]*\))?|final|static|class(?=\s+(?:func|var|let|subscript))|mutating|nonmutating|indirect|override'
    r'|nonisolated(?:\(\w+\))?|consuming|borrowing|convenience|required|lazy|weak|unowned|sending'
    r'|(?:private|fileprivate|internal|package)\(set\))\s+)*'
)
KINDS = r'(?:func|var|let|init|struct|enum|class|protocol|subscript|typealias|actor|associatedtype|macro)\b'
VISIBLE = re.compile(r'^\s*' + MODIFIERS + r'(public|open|package)\s+' + MODIFIERS + KINDS)


@dataclass
class Block:
    """A declaration with a body. Its lines run from the one of its keyword to the one of its closing brace."""

    kind: str
    name: str
    start: int
    end: int
    first_line: int
    last_line: int

    @property
    def line_count(self):
        return self.last_line - self.first_line + 1


def matching_braces(code):
    """Returns the offset of the closing brace for each opening one."""
    closing, stack = {}, []
    for brace in re.finditer(r'[{}]', code):
        if brace.group() == '{':
            stack.append(brace.start())
        elif stack:
            closing[stack.pop()] = brace.start()
    return closing


def body_start(code, at, closing):
    """Returns the offset of the opening brace of the body of the declaration at `at`, or None for a requirement without a body."""
    depth = 0
    end_of_line = False
    for found in re.compile(r'[()\[\]{}\n;]').finditer(code, at):
        mark = found.group()
        if mark in '([':
            depth += 1
        elif mark in ')]':
            depth -= 1
            if depth < 0:
                return None
        elif mark == '{':
            if depth == 0:
                return found.start() if found.start() in closing else None
        elif depth == 0:
            if mark in '};':
                return None
            # The body or a clause may begin on the next line; anything else there is another declaration.
            rest = code[found.end():].lstrip()
            if not re.match(r'\{|where\b|throws\b|async\b|rethrows\b|->|:|,', rest) and not re.search(r'(->|,|:|&|where|=)\s*$', code[at:found.start()]):
                return None
    return None


def blocks(source):
    """Returns the types and the functions of a file, in order, each type with the names of the types around it."""
    code = source.code
    closing = matching_braces(code)
    found = []
    for pattern, is_type in ((TYPE, True), (FUNCTION, False)):
        for match in pattern.finditer(code):
            opening = body_start(code, match.end(), closing)
            if opening is None:
                continue
            kind = match.group(1) if is_type else 'func'
            name = match.group(2) if is_type else source.text[match.start():match.end()].removeprefix('func').strip()
            end = closing[opening]
            found.append(Block(kind, name, match.start(), end, source.line_of(match.start()), source.line_of(end)))
    found.sort(key=lambda block: block.start)
    types = [block for block in found if block.kind != 'func']
    stack = []
    for block in types:
        while stack and stack[-1].end < block.start:
            stack.pop()
        if stack and block.kind != 'extension':
            block.name = stack[-1].name + '.' + block.name
        stack.append(block)
    return types, [block for block in found if block.kind == 'func']


def visible_declarations(source):
    """Yields (access level, whether it has a doc comment, line number) of each declaration that states its access level.

    An `override` is left out: its documentation is the superclass's.
    """
    doc_ends = {source.line_of(comment.end - 1) for comment in source.comments if comment.is_doc and comment.is_alone}
    for index, line in enumerate(source.code_lines):
        match = VISIBLE.match(line)
        if not match or re.search(r'\boverride\b', line):
            continue
        above = index - 1
        while above >= 0 and re.match(r'\s*(@|#if|#endif|#else)', source.lines[above]):
            above -= 1
        level = 'package' if match.group(1) == 'package' else 'public'
        yield level, above + 1 in doc_ends, index + 1
