"""Runs the end-to-end tests: `python3 E2E --help`. scripts/e2e calls it."""

import argparse
import os
import sys

import cases_browser
import cases_bytes
import cases_dash
import cases_encryption
import cases_fields
import cases_fleet
import cases_http
import cases_live
import cases_network
import cases_page
import cases_players
import cases_preload
import cases_site
import cases_streams
import cases_trouble
from harness import Runner, find_program, write_report


def main():
    parser = argparse.ArgumentParser(prog="scripts/e2e", description="plays real files with real clients through spool serve")
    parser.add_argument("--direct", action="store_true", help="leave the proxy out, to check clients, media and origin")
    parser.add_argument("--ci", action="store_true", help="count a missing client as a failure")
    parser.add_argument("--only", metavar="WORD", default="", help="run only cases whose name contains WORD")
    parser.add_argument("--list", action="store_true", help="print the names of the cases and exit")
    parser.add_argument("--report", metavar="FILE", help="write 'passed failed skipped' to FILE")
    options = parser.parse_args()

    cases = [
        case
        for module in (
            cases_http, cases_network, cases_bytes, cases_players, cases_preload, cases_site, cases_streams, cases_dash, cases_live,
            cases_browser, cases_page, cases_fields, cases_trouble, cases_encryption, cases_fleet)
        for case in module.CASES
        if options.only.lower() in case.name.lower()
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
    with Runner(direct=options.direct, is_ci=options.ci, binary=os.environ.get("SPOOL_BIN", ".build/release/spool")) as runner:
        for case in cases:
            runner.run(case)
        return runner.finish(options.report)


if __name__ == "__main__":
    sys.exit(main())
