"""Splits comments, test names and Markdown pages into sentences, and finds the patterns that the project avoids."""

import re

# For each pattern its limit as a share of all sentences, in per cent.
# The aim for 'no' is 2.5 in comments. Its limit is that of the literals, which have the most.
LIMITS = {'What': 0.5, 'Who': 0.5, 'nobody': 0.5, 'say': 2.0, 'no': 14.0}
PATTERNS = {
    'What': re.compile(r'^(?:- |\(|[A-Z]\w+ \w+: )?(?:What|Whatever)\b(?!\?)'),
    'Who': re.compile(r'^(?:Who|Whoever)\b'),
    'nobody': re.compile(r'\b(?:nobody|somebody|whoever|everybody|someone|anyone|anybody|no one)\b', re.I),
    'no': re.compile(r'\b(?:no|none|nothing)\b', re.I),
    'say': re.compile(r'\b(?:says?|said|tells?|told|hears?|heard|knows|knew|wants?|wanted)\b'),
}
LIST_ITEM = re.compile(r'^(?:[-*+]|\d+\.)\s+')


def sentences(paragraph):
    """Returns the sentences of a paragraph. Code between backticks counts as a name."""
    text = re.sub(r'``?[^`]*``?', 'X', paragraph)
    text = re.sub(r'\b(e\.g|i\.e|etc|vs|cf)\.', r'\1', text)
    parts = re.split(r'(?<=[.!?:;…])\s+(?=[A-Z“"(0-9…*])', text)
    return [part.strip() for part in parts if re.search(r'[A-Za-z]{2}', part)]


def clauses(paragraph):
    """Returns how many clauses a paragraph has: its sentences, and their parts after a colon or a semicolon."""
    parts = re.split(r'(?<=[.!?:;…])\s+', re.sub(r'``?[^`]*``?', 'X', paragraph))
    return sum(re.search(r'[A-Za-z]{2}', part) is not None for part in parts)


def patterns_in(sentence):
    """Returns the names of the patterns that a sentence has."""
    return [name for name, pattern in PATTERNS.items() if pattern.search(sentence)]


def comment_paragraphs(source):
    """Returns (line number, text) of each paragraph of prose in the comments of a Swift file.

    Code between fences, `// MARK` and tool directives are left out. Each item of a list is a paragraph.
    """
    paragraphs, current, first, previous, in_fence = [], [], 0, -9, False

    def end():
        if current:
            paragraphs.append((first, ' '.join(current)))
        current.clear()

    for comment in source.comments:
        bodies = [re.sub(r'^//[/!]?', '', comment.text)]
        if comment.text.startswith('/*'):
            bodies = [re.sub(r'^\s*\*?', '', line) for line in re.sub(r'^/\*+|\*+/$', '', comment.text).split('\n')]
        for number, body in enumerate(bodies, comment.line):
            body = body.strip()
            if number != previous + 1 or not comment.is_alone:
                end()
            previous = number
            if body.startswith('```'):
                end()
                in_fence = not in_fence
                continue
            if in_fence:
                continue
            if not body or body.startswith(('MARK', 'swift-tools', 'swift-format')):
                end()
                continue
            if LIST_ITEM.match(body):
                end()
                body = LIST_ITEM.sub('', body, count=1)
            if not current:
                first = number
            current.append(body)
    end()
    return paragraphs


def test_names(source):
    """Returns (line number, name) of each test function whose name is a sentence."""
    names = re.finditer(r'\bfunc `([^`\n]+)`', source.text)
    return [(source.line_of(name.start()), name.group(1)[0].upper() + name.group(1)[1:]) for name in names]


# A literal of fewer words is a name, a key or a part of a format.
LEAST_WORDS = 5
# Scripts, styles and statements, which are code in another language.
OTHER_LANGUAGE = re.compile(r'^\s*(?:SELECT|INSERT|UPDATE|DELETE|CREATE|ALTER|PRAGMA|WITH|<!|<\w)|[{};]\s*$', re.M)
INTERPOLATION = re.compile(r'\\#*\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)')


def literal_paragraphs(source):
    """Returns (line number, text) of each string literal that reads as prose. An interpolation counts as a name."""
    paragraphs = []
    for offset, contents in source.literals:
        text = ' '.join(re.sub(r'\\#*\s*\n', ' ', INTERPOLATION.sub('X', contents)).split())
        if len(re.findall(r'[A-Za-z]{2,}', text)) >= LEAST_WORDS and not OTHER_LANGUAGE.search(contents):
            paragraphs.append((source.line_of(offset), text))
    return paragraphs


def page_paragraphs(text):
    """Returns (line number, text) of each paragraph, list item and cell of a table in a Markdown page."""
    paragraphs, current, first, in_fence = [], [], 0, False

    def end():
        if current:
            paragraphs.append((first, ' '.join(current)))
        current.clear()

    for number, line in enumerate(text.split('\n'), 1):
        line = line.strip()
        if line.startswith('```'):
            end()
            in_fence = not in_fence
            continue
        if in_fence:
            continue
        if not line or line.startswith(('#', '|')) or LIST_ITEM.match(line):
            end()
        if line.startswith('|'):
            paragraphs += [(number, cell.strip()) for cell in line.split('|') if len(cell.split()) > 3]
            continue
        line = LIST_ITEM.sub('', re.sub(r'^#+\s*', '', line), count=1)
        if line:
            if not current:
                first = number
            current.append(line)
    end()
    return paragraphs
