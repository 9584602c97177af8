"""Takes the measures of a checkout of Swift code. `scripts/measure --help` explains the options and the measures."""

import argparse
import json
import math
import re
import statistics
import sys
from collections import Counter, defaultdict
from pathlib import Path

from declarations import blocks, visible_declarations
from prose import LIMITS, clauses, comment_paragraphs, literal_paragraphs, page_paragraphs, patterns_in, sentences, test_names
import circles
from swift_text import SwiftText

LINE_WIDTH = 120
COMMENT_WIDTH = 100
SKIPPED = {'.build', '.git', 'Pods', 'Carthage', 'DerivedData', 'node_modules', '.swiftpm'}
# Code by pattern. Each is searched in code alone, without comments and the contents of string literals.
CODE_PATTERNS = {
    'maybe-Booleans (?? true, ?? false)': re.compile(r'\?\?\s*(?:true|false)\b'),
    'force unwraps': re.compile(r'(?<!\btry)(?<!\bas)(?<=[\w)\]])!(?![=\w"(\[])(?=[\s.,;:)\]}?]|$)|(?<=[\w)\]])!(?=[(\[])'),
    'try!': re.compile(r'\btry!'),
    'fatalError': re.compile(r'\bfatalError\('),
    '@unchecked Sendable': re.compile(r'@unchecked\s+Sendable'),
}
# A type that is unwrapped implicitly: `let x: Int!`, `-> Int!`.
IMPLICIT_UNWRAP = re.compile(r'(?::|->)\s*\[?[A-Z][\w.<>\[\], ]*!')


def percentile(values, share):
    """Returns the value at a share of a sorted list, by the nearest rank; 0 for an empty list."""
    return values[max(0, math.ceil(share * len(values)) - 1)] if values else 0


def spread(values, shares):
    values = sorted(values)
    result = {name: percentile(values, share) for name, share in shares.items()}
    if values and 'median' in result:
        result['median'] = round(statistics.median(values))
    result['max'] = values[-1] if values else 0
    return {'count': len(values), **result}


def share(part, whole):
    return round(100 * part / whole, 2) if whole else 0.0


class File:
    """One Swift file with everything that is counted in it."""

    def __init__(self, path, root, module):
        self.path = path.relative_to(root)
        self.module = module
        self.source = SwiftText(path.read_text(encoding='utf-8', errors='replace'))
        self.types, self.functions = blocks(self.source)

    @property
    def lines(self):
        return self.source.lines


def swift_files(directory):
    return sorted(p for p in directory.rglob('*.swift') if p.is_file() and not SKIPPED & set(p.parts))


def checkout(root):
    """Returns (files of the code, files of the tests, Markdown pages). Without a folder `Sources` every folder without tests is code."""
    sources = root / 'Sources'
    test_folders = [p for p in sorted(root.iterdir()) if p.is_dir() and p.name.endswith('Tests')]
    code = []
    if sources.is_dir():
        for path in swift_files(sources):
            inner = path.relative_to(sources).parts
            code.append(File(path, root, inner[0] if len(inner) > 1 else 'Sources'))
    else:
        for path in swift_files(root):
            inner = path.relative_to(root).parts
            if len(inner) > 1 and not any(part.endswith('Tests') for part in inner):
                code.append(File(path, root, inner[0]))
    tests = [File(path, root, path.relative_to(root).parts[1]) for folder in test_folders for path in swift_files(folder)]
    pages = sorted(p for p in root.rglob('*.md') if not SKIPPED & set(p.relative_to(root).parts))
    return code, tests, pages


def size_of_types(files):
    """Returns the types by their lines: the declaration and every extension of it in its module, nested types included."""
    lines, places = Counter(), defaultdict(set)
    for file in files:
        for block in file.types:
            key = (file.module, block.name)
            lines[key] += block.line_count
            places[key].add(file.path)
    return [
        {'module': module, 'type': name, 'lines': count, 'files': len(places[module, name])}
        for (module, name), count in lines.most_common()
    ]


def code_measures(files):
    """Returns the measures of a group of files, without its language."""
    line_count = sum(len(file.lines) for file in files)
    doc_lines = comment_lines = wide_comments = 0
    found = Counter()
    documented, declared = Counter(), Counter()
    for file in files:
        for line, code in zip(file.lines, file.source.code_lines):
            stripped = line.lstrip()
            if stripped.startswith('//'):
                comment_lines += 1
                doc_lines += stripped.startswith('///')
                wide_comments += len(line) > COMMENT_WIDTH
            for name, pattern in CODE_PATTERNS.items():
                found[name] += len(pattern.findall(IMPLICIT_UNWRAP.sub('', code) if name == 'force unwraps' else code))
        for level, has_doc, _ in visible_declarations(file.source):
            declared[level] += 1
            documented[level] += has_doc
    wide = sum(len(line) > LINE_WIDTH for file in files for line in file.lines)
    functions = [block.line_count for file in files for block in file.functions]
    thousands = line_count / 1000 or 1
    return {
        'lines': line_count,
        'lines of a file': spread([len(file.lines) for file in files], {'median': 0.5, 'p90': 0.9}),
        'lines of a function': spread(functions, {'median': 0.5, 'p90': 0.9, 'p99': 0.99}),
        'doc comments, % of lines': share(doc_lines, line_count),
        'documented': {
            level: {'declarations': declared[level], 'documented %': share(documented[level], declared[level])}
            for level in ('public', 'package') if declared[level]
        },
        f'lines over {LINE_WIDTH} columns': {'count': wide, '%': share(wide, line_count)},
        f'comment lines over {COMMENT_WIDTH} columns': {
            'count': wide_comments, 'of': comment_lines, '%': share(wide_comments, comment_lines)},
        'patterns': {name: {'count': found[name], 'per 1000 lines': round(found[name] / thousands, 2)} for name in CODE_PATTERNS},
    }


def language(paragraphs):
    """Returns the counts of `paragraphs`, each (path, line, text), and each sentence that has a pattern."""
    total, clause_count, counts, hits = 0, 0, Counter(), []
    for path, line, text in paragraphs:
        clause_count += clauses(text)
        for sentence in sentences(text):
            total += 1
            for name in patterns_in(sentence):
                counts[name] += 1
                hits.append((str(path), line, name, sentence))
    shares = {name: {'count': counts[name], '%': share(counts[name], total), 'limit %': LIMITS[name]} for name in LIMITS}
    return {'sentences': total, 'clauses': clause_count, **shares}, hits


def measure(root):
    """Returns all measures of the checkout at `root`, and the sentences that have a pattern."""
    code, tests, pages = checkout(root)
    groups = {
        'comments of the code': [(f.path, *p) for f in code for p in comment_paragraphs(f.source)],
        'string literals of the code': [(f.path, *p) for f in code for p in literal_paragraphs(f.source)],
        'comments and names of the tests':
            [(f.path, *p) for f in tests for p in comment_paragraphs(f.source) + test_names(f.source)],
        'pages': [(p.relative_to(root), *part) for p in pages for part in page_paragraphs(p.read_text(encoding='utf-8', errors='replace'))],
    }
    spoken, hits = {}, []
    for name, paragraphs in groups.items():
        spoken[name], found = language(paragraphs)
        hits += found
    code_lines, test_lines = (sum(len(file.lines) for file in files) for files in (code, tests))
    modules = sorted({file.module for file in code})
    result = {
        'checkout': root.name,
        'code': code_measures(code),
        'modules': {name: code_measures([file for file in code if file.module == name]) for name in modules},
        'types': size_of_types(code)[:12],
        'tests': code_measures(tests),
        'tests ÷ code': round(test_lines / code_lines, 2) if code_lines else 0,
        'language': spoken,
    }
    longest = sorted(((b.line_count, str(f.path), b.first_line, b.name) for f in code for b in f.functions), reverse=True)
    result['longest functions'] = [{'lines': n, 'place': f'{path}:{line}', 'function': name} for n, path, line, name in longest[:8]]
    return result, hits


def values(spread_of):
    return '/'.join(str(value) for name, value in spread_of.items() if name != 'count')


def print_table(result):
    """Prints the measures for people."""
    heading = ('module', 'files', 'lines', 'file med/p90/max', 'function med/p90/p99/max', 'doc %', 'public (doc. %)', 'package (doc. %)', '>120 %', 'comments >100 %')
    rows = [heading]
    for name, m in [*result['modules'].items(), ('all code', result['code']), ('tests', result['tests'])]:
        visible = [m['documented'].get(level) for level in ('public', 'package')]
        rows.append((
            name, m['lines of a file']['count'], m['lines'], values(m['lines of a file']), values(m['lines of a function']),
            m['doc comments, % of lines'],
            *(f"{v['declarations']} ({v['documented %']})" if v else '0' for v in visible),
            m[f'lines over {LINE_WIDTH} columns']['%'], m[f'comment lines over {COMMENT_WIDTH} columns']['%'],
        ))
    widths = [max(len(str(row[i])) for row in rows) for i in range(len(heading))]
    for row in rows:
        print('  '.join(str(cell).ljust(width) for cell, width in zip(row, widths)).rstrip())
    print('\nlargest types, with every extension in their module')
    for entry in result['types']:
        print(f"  {entry['lines']:6}  {entry['files']:3} files  {entry['module']}.{entry['type']}")
    print(f"\nlongest functions, of {result['code']['lines of a function']['count']}")
    for entry in result['longest functions']:
        print(f"  {entry['lines']:6}  {entry['function']}  {entry['place']}")
    print('\nin the code')
    for name, entry in result['code']['patterns'].items():
        print(f"  {entry['count']:6}  {entry['per 1000 lines']:6} per 1000 lines  {name}")
    print(f"\ntests ÷ code (lines): {result['tests ÷ code']}")
    for group, counts in result['language'].items():
        print(f"\nsentences in {group}: {counts['sentences']}, of {counts['clauses']} clauses")
        for name in LIMITS:
            entry = counts[name]
            print(f"  {entry['count']:6}  {entry['%']:6} %  (limit {entry['limit %']} %)  {name}")


# The limits that --check demands, besides those of the sentences.
LEAST_DOCUMENTED = {'public': 100, 'package': 85}
MOST_WIDE_COMMENTS = 1
MOST_LINES_OF_A_TYPE = 800
# Modules without circles of files that need each other.
WITHOUT_CIRCLES = ('SpoolProxy', 'SpoolDashboard')


def excesses(result):
    """A line for each measure beyond its limit."""
    for where, names in result['language'].items():
        for name in LIMITS:
            entry = names[name]
            if entry['%'] > entry['limit %']:
                yield f"{where}: {entry['%']} % of the sentences have the pattern '{name}', at most {entry['limit %']} % may"
    for access, least in LEAST_DOCUMENTED.items():
        entry = result['code']['documented'].get(access)
        if entry and entry['documented %'] < least:
            yield f"{entry['documented %']} % of the {access} declarations have a doc comment, at least {least} % must"
    wide = result['code']['comment lines over 100 columns']['%']
    if wide >= MOST_WIDE_COMMENTS:
        yield f'{wide} % of the comment lines have more than 100 columns, less than {MOST_WIDE_COMMENTS} % may'
    for entry in result['types']:
        if entry['lines'] > MOST_LINES_OF_A_TYPE:
            yield f"{entry['module']}.{entry['type']} has {entry['lines']} lines with its extensions, at most {MOST_LINES_OF_A_TYPE} may be"


def main():
    parser = argparse.ArgumentParser(prog='scripts/measure', add_help=False)
    parser.add_argument('path', nargs='?', default='.')
    parser.add_argument('--json', action='store_true')
    parser.add_argument('--sentences', action='store_true')
    parser.add_argument('--check', action='store_true')
    arguments = parser.parse_args()
    root = Path(arguments.path).resolve()
    if not root.is_dir():
        sys.exit(f'spool: no checkout at {root}; name the directory that holds Package.swift')
    result, hits = measure(root)
    if arguments.json:
        if arguments.sentences:
            result['hits'] = [dict(zip(('file', 'line', 'pattern', 'sentence'), hit)) for hit in hits]
        print(json.dumps(result, indent=2, ensure_ascii=False))
        return
    if arguments.sentences:
        for path, line, name, sentence in hits:
            print(f'{path}:{line}: [{name}] {sentence}')
        return
    if arguments.check:
        found = list(excesses(result))
        for module in WITHOUT_CIRCLES:
            found += circles.report(root / 'Sources' / module)
        print('\n'.join(found), end='\n' if found else '')
        sys.exit(1 if found else 0)
    print_table(result)


if __name__ == '__main__':
    main()
