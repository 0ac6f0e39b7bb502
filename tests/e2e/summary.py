#!/usr/bin/env python3
"""Sums up a JUnit file of pytest, for ./test.

usage: summary.py JUNIT_FILE    first how many passed, failed, were left out; then "NAME: REASON" of these
"""

import sys
import xml.etree.ElementTree


def main(path):
    failed, left_out, cases = 0, [], 0
    for case in xml.etree.ElementTree.parse(path).iter("testcase"):
        cases += 1
        kinds = {child.tag: child for child in case}
        if "failure" in kinds or "error" in kinds:
            failed += 1
        elif "skipped" in kinds:
            left_out.append(f"{case.get('name')}: {kinds['skipped'].get('message')}")
    print(cases - failed - len(left_out), failed, len(left_out))
    print("\n".join(left_out))


if __name__ == "__main__":
    main(sys.argv[1])
