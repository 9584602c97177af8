"""Runs the end-to-end tests: `python3 E2E --help`. scripts/e2e calls it."""

import argparse
import contextlib
import os
import random
import shutil
import sys
import tempfile
from pathlib import Path

import cases_access
import cases_browser
import cases_bucket
import cases_bytes
import cases_commands
import cases_dash
import cases_encryption
import cases_fields
import cases_fleet
import cases_fronts
import cases_hostile
import cases_http
import cases_list
import cases_live
import cases_manifests
import cases_monitoring
import cases_network
import cases_package
import cases_page
import cases_players
import cases_preload
import cases_site
import cases_streams
import cases_trouble
import cases_trust
import media
from harness import ROOT, Results, Settings, find_program, write_report
from ports import MOST_SHARES
from workers import Interrupted, Workers, end_by_exception


def main():
    parser = argparse.ArgumentParser(prog="scripts/e2e", description="plays real files with real clients through spool serve")
    parser.add_argument("--direct", action="store_true", help="leave the proxy out, to check clients, media and origin")
    parser.add_argument("--ci", action="store_true", help="count a missing client as a failure")
    parser.add_argument(
        "--only", metavar="WORD", action="append", default=[],
        help="run only cases whose name contains WORD, or all of a file, such as cases_bytes; may be repeated")
    parser.add_argument("--list", action="store_true", help="print the names of the cases and exit")
    parser.add_argument(
        "--jobs", metavar="N", type=int, default=3, choices=range(1, MOST_SHARES + 1),
        help=f"run N cases at once, at most {MOST_SHARES} (default: 3); 1 keeps the order of the list")
    parser.add_argument("--report", metavar="FILE", help="write 'passed failed skipped' to FILE")
    options = parser.parse_args()

    cases = [
        case
        for module in (
            cases_http, cases_network, cases_bytes, cases_players, cases_preload, cases_site, cases_streams, cases_dash, cases_live,
            cases_browser, cases_page, cases_list, cases_access, cases_fields, cases_trouble, cases_trust, cases_encryption,
            cases_fleet, cases_fronts, cases_bucket, cases_hostile, cases_manifests, cases_commands, cases_monitoring,
            cases_package)
        for case in module.CASES
        if not options.only or any(word == module.__name__ or word.lower() in case.name.lower() for word in options.only)
    ]
    if options.list:
        print("\n".join(case.name for case in cases))
        return 0
    missing = [name for name in ("nginx", "openssl", "ffmpeg") if not find_program(name)]
    if missing:
        # Without an origin and media, no case can run.
        print(f"{'FAILED' if options.ci else 'skipped'}  all {len(cases)} end-to-end cases: {', '.join(missing)} not installed")
        write_report(options.report, 0, *((len(cases), 0) if options.ci else (0, len(cases))))
        return 1 if options.ci else 0
    binary = Path(os.environ.get("SPOOL_BIN", ".build/release/spool")).resolve()
    if not options.direct and not os.access(binary, os.X_OK):
        print(f"cannot run: no program at {binary}; build it or name it in SPOOL_BIN")
        return 1
    return run(cases, options, binary)


def run(cases, options, binary):
    """Runs the cases, and returns the exit code."""
    end_by_exception()
    results = Results()
    with contextlib.ExitStack() as cleanup:
        directory = Path(tempfile.mkdtemp(prefix="spool-e2e-"))
        cleanup.callback(shutil.rmtree, directory, ignore_errors=True)
        try:
            files = media.Media(ROOT / ".build" / "e2e-media", find_program("ffmpeg"))
            seed = int(os.environ.get("SPOOL_SEED") or random.randrange(2**32))
            print(f"seed {seed} (SPOOL_SEED replays it){', without the proxy' if options.direct else ''}", flush=True)
            settings = Settings(options.direct, options.ci, binary, seed, directory, files)
            with Workers(min(options.jobs, len(cases)), settings, cases, results) as workers:
                workers.run()
        except Interrupted as interrupted:
            results.finish(options.report)
            return interrupted.exit_code
        return results.finish(options.report)


if __name__ == "__main__":
    sys.exit(main())
