# SPDX-License-Identifier: Apache-2.0
"""./dev conformance moving: every robot of the wheels, stepped with contact beside MuJoCo.

Each model runs in a process of its own, with a time limit. Results are kept in out/moving/results.json, and models that are
there already are not run again unless --again is given; --write renews docs/robots.md from all of them."""
import argparse
import collections
import concurrent.futures
import fnmatch
import json
import pathlib
import signal
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import models  # noqa: E402
import moving_page  # noqa: E402

OUT = models.ROOT / "out" / "moving"
PER_FOLDER = 6  # models of a folder that a run without --all takes


def wanted(options):
    """(name, path) of the models: without --all the first of each folder, scenes first. One of every folder comes before the second of any,
    small files first, so that a run that is cut short has seen most kinds of robots."""
    folders = collections.defaultdict(list)
    for wheel, path in models.models(options.wheel or tuple({**models.WHEELS, **models.MORE})):
        name = f"{wheel}/{path.relative_to(models.unpack(wheel))}"
        if not options.only or any(fnmatch.fnmatch(name, f"*{p}*") for p in options.only):
            folders[path.parent].append((name, path))
    turns = []
    for found in folders.values():
        found.sort(key=lambda x: ("scene" not in x[1].name, x[0]))
        turns += enumerate(found if options.all or options.only else found[:PER_FOLDER])
    return [model for _, model in sorted(turns, key=lambda x: (x[0], x[1][1].stat().st_size, x[1][0]))]


def one(path, options):
    command = [sys.executable, str(pathlib.Path(__file__).with_name("moving_one.py")), str(path),
               *map(str, (options.steps, options.repeats, options.seconds))]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode in (-signal.SIGXCPU, -signal.SIGKILL):
        return dict(crash=f"not done after {options.seconds} s")
    if done.returncode:
        last = done.stderr.strip().splitlines()
        return dict(crash=f"exit status {done.returncode}: {last[-1] if last else ''}")
    return json.loads(done.stdout.splitlines()[-1])


class Progress:
    def __init__(self, total):
        self.total, self.done, self.start = total, 0, time.monotonic()

    def tell(self, name):
        self.done += 1
        spent = time.monotonic() - self.start
        left = spent / self.done * (self.total - self.done)
        filled = 24 * self.done // self.total
        end = "\n" if self.done == self.total or not sys.stderr.isatty() else ""
        print(f"\r[{'#' * filled}{'.' * (24 - filled)}] {self.done}/{self.total} {left:5.0f} s left  {name[-60:]:<60}", end=end,
              file=sys.stderr, flush=True)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", help="models whose wheel/path contains this pattern (* and ? are allowed)")
    parser.add_argument("--wheel", action="append", help="only these wheels")
    parser.add_argument("--all", action="store_true", help=f"every model; otherwise {PER_FOLDER} of each folder")
    parser.add_argument("--limit", type=int, default=10**9, help="at most so many models")
    parser.add_argument("--steps", type=int, default=2000, help="steps of each run (default 2000)")
    parser.add_argument("--repeats", type=int, default=2, help="timed runs of which the fastest counts; 0: no timing")
    parser.add_argument("--seconds", type=int, default=120, help="processor time that a model has (default 120)")
    parser.add_argument("--jobs", type=int, default=1, help="models at a time; more than 1 disturbs the timing")
    parser.add_argument("--again", action="store_true", help="run models again whose results are there")
    parser.add_argument("--findings", action="store_true", help="of these, only those with findings so far, again")
    parser.add_argument("--write", action="store_true", help="write docs/robots.md")
    parser.add_argument("--note", default="", help="a sentence for that page, on how these figures were measured")
    parser.add_argument("--json", default=str(OUT / "results.json"), help="results")
    return parser.parse_args()


def is_due(name, options, results):
    if options.findings:
        return name in results and bool(moving_page.findings(results[name]))
    return options.again or name not in results


def run_all(options, results, file):
    todo = [(name, path) for name, path in wanted(options) if is_due(name, options, results)][:options.limit]
    if not todo:
        return
    progress = Progress(len(todo))
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        running = {pool.submit(one, path, options): name for name, path in todo}
        for future in concurrent.futures.as_completed(running):
            results[running[future]] = dict(future.result(), steps=options.steps, repeats=options.repeats)
            file.write_text(json.dumps(results, indent=0))
            progress.tell(running[future])


def main():
    options = arguments()
    file = pathlib.Path(options.json)
    file.parent.mkdir(parents=True, exist_ok=True)
    results = json.loads(file.read_text()) if file.exists() else {}
    run_all(options, results, file)
    print(moving_page.summary(results))
    if options.write:
        known = sum(1 for _ in models.models(tuple({**models.WHEELS, **models.MORE})))
        moving_page.write(models.ROOT / "docs" / "robots.md", results, options.steps, options.note, known)
    return 0


if __name__ == "__main__":
    sys.exit(main())
