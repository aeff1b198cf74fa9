# SPDX-License-Identifier: Apache-2.0
"""Friction problems of others: Stiction against Siconos' local solvers and Pinocchio's ADMM.

./dev bench fclib [--only NAME] [--limit SECONDS]. The folder of FCLIB files comes from STI_FCLIB. Everybody solves the same problem
from zero to the same full error (Siconos' measure, computed by the same code for all), in this run, on this machine, on one thread; the time is
the best of several solves. Global problems are given to all in condensed form, and condensing is not counted; a second line has
Stiction's time on the file as it is."""
import argparse
import csv
import math
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import h5py
import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[1]
TOLERANCES = ("1e-4", "1e-6", "1e-8")
# name: Siconos' number (NSGSV, which it has for dense matrices only, is left out)
SICONOS = {"NSGS": 500, "PROX": 502, "TFP": 503, "NSN_AC": 504, "DSFP": 505, "VI_FPP": 506, "VI_EG": 507, "HP": 508, "FPP": 511, "EG": 512,
           "NSN_FB": 513, "ACLMFP": 516, "SOCLCP": 517, "NSN_NM": 520, "PFP": 522, "ADMM": 523}


def matrix(group):
    m, n, nz = (int(group[k][0]) for k in ("m", "n", "nz"))
    p, i, x = group["p"][()], group["i"][()], group["x"][()]
    dense = np.zeros((m, n))
    if nz >= 0:
        np.add.at(dense, (i[:nz], p[:nz]), x[:nz])
    else:
        rows = np.repeat(np.arange(len(p) - 1), np.diff(p))
        index = (i[: len(rows)], rows) if nz == -1 else (rows, i[: len(rows)])
        np.add.at(dense, index, x[: len(rows)])
    return dense


def read(path):
    """W, q, mu of a file, condensed if it is global, and whether it is."""
    with h5py.File(path) as file:
        is_global = "fclib_local" not in file
        if not is_global:
            group = file["fclib_local"]
            W, q = matrix(group["W"]), group["vectors/q"][()]
        else:
            group = file["fclib_global"]
            M, H = matrix(group["M"]), matrix(group["H"])
            X = np.linalg.solve(M, np.column_stack([H, group["vectors/f"][()]]))
            W, q = H.T @ X[:, :-1], H.T @ X[:, -1] + group["vectors/w"][()]
            W[abs(W) < 1e-14 * abs(W).max()] = 0
        return W, np.asarray(q, float), np.asarray(group["vectors/mu"][()], float), is_global


def write(path, W, q, mu):
    rows, cols = np.nonzero(W)
    start = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=len(q)))])
    with open(path, "wb") as out:
        for data, kind in (([len(q), len(cols)], np.int32), (start, np.int32), (cols, np.int32), (W[rows, cols], float), (q, float), (mu, float)):
            np.asarray(data, kind).tofile(out)


def full_error(W, q, mu, r):
    u = W @ r + q
    x = (r - u).reshape(-1, 3).copy()
    x[:, 0] -= mu * np.linalg.norm(u.reshape(-1, 3)[:, 1:], axis=1)
    t = np.linalg.norm(x[:, 1:], axis=1)
    n = (x[:, 0] + mu * t) / (1 + mu * mu)
    slide, none = t > mu * x[:, 0], mu * t <= -x[:, 0]
    with np.errstate(invalid="ignore", divide="ignore"):
        x[slide, 1:] *= (mu * n / t)[slide, None]
    x[slide, 0] = n[slide]
    x[none] = 0
    return np.linalg.norm(r - x.ravel()) / max(map(np.linalg.norm, (q, r, u)))


def run(command, limit):
    """{tolerance: seconds} of a helper; what it did within the limit."""
    try:
        text = subprocess.run(command, capture_output=True, text=True, timeout=limit, errors="replace").stdout
    except subprocess.TimeoutExpired as late:
        text = (late.stdout or b"").decode(errors="replace")
    found = {}
    for line in text.splitlines():
        words = line.split()
        if len(words) >= 3 and words[0].replace("e-0", "e-") in TOLERANCES + ("0.0001",):
            key = "1e-4" if words[0] == "0.0001" else words[0].replace("e-0", "e-")
            found[key] = float(words[1])
    return found


def run_pinocchio(W, q, mu, limit):
    try:
        import pinocchio as pin
    except ImportError:
        return None
    order = np.arange(len(q)).reshape(-1, 3)[:, [1, 2, 0]].ravel()  # its normal is the third axis
    back = np.argsort(order)
    model = pin.Model()
    models, datas = pin.StdVec_ConstraintModel(), pin.StdVec_ConstraintData()
    for friction in mu:
        contact = pin.PointContactConstraintModel(model)
        contact.setFriction(float(friction))
        models.append(pin.ConstraintModel(contact))
        datas.append(models[len(models) - 1].createData())
    Wp, gp = np.ascontiguousarray(W[np.ix_(order, order)]), q[order].copy()
    found, begin = {}, time.perf_counter()
    for name in TOLERANCES:
        tol = float(name)
        for _ in range(4):
            best, error, repeats = math.inf, math.inf, 0
            while repeats < 5 and (repeats == 0 or time.perf_counter() - begin < limit / 4):
                settings, result, solver = pin.ADMMSolverSettings(), pin.ADMMSolverResult(), pin.ADMMConstraintSolver(len(q))
                settings.max_iterations, settings.solve_ncp = 20000, True
                settings.lanczos_size = min(10, len(q))
                settings.absolute_feasibility_tol = settings.absolute_complementarity_tol = tol
                settings.relative_feasibility_tol = settings.relative_complementarity_tol = tol
                delassus = pin.DelassusOperatorDense(Wp)
                start = time.perf_counter()
                solver.solve(delassus, gp, models, datas, settings, result)
                best = min(best, time.perf_counter() - start)
                error = full_error(W, q, mu, np.asarray(result.retrieveConstraintImpulses())[back])
                repeats += 1
            if error <= float(name) or time.perf_counter() - begin > limit:
                break
            tol /= 10
        if not error <= float(name):
            break
        found[name] = best
    return found


def compile_helpers(folder, build):
    ours, siconos = folder / "ours", folder / "siconos"
    cc = os.environ.get("CC", "cc")
    subprocess.run([cc, "-O2", "-I", ROOT / "include", ROOT / "bench" / "fclib_stiction.c", "-o", ours, "-L", build, "-lstiction",
                    f"-Wl,-rpath,{build}", "-lm"], check=True)
    include = next((p for p in ("/usr/include/siconos/numerics", "/usr/local/include/siconos/numerics") if os.path.isdir(p)), None)
    if include is None:
        return ours, None
    command = [cc, "-O2", "-w", "-I", include, "-I", str(pathlib.Path(include).parent), "-I", "/usr/include/siconos/externals",
               "-I", "/usr/include/suitesparse", ROOT / "bench" / "fclib_siconos.c", "-o", siconos, "-lsiconos_numerics",
               "-lsiconos_externals", "-lm"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        print(done.stderr[:2000], file=sys.stderr)
        return ours, None
    return ours, siconos


def milliseconds(seconds):
    return "       -" if seconds is None else f"{1e3 * seconds:8.3f}"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="files whose name contains this")
    parser.add_argument("--limit", type=float, default=20, help="seconds per solver and problem")
    parser.add_argument("--build", default=str(ROOT / "build"))
    parser.add_argument("--csv", help="writes all times there")
    arguments = parser.parse_args()
    where = os.environ.get("STI_FCLIB")
    if not where or not os.path.isdir(where):
        print("SKIPPED: set STI_FCLIB to a folder of FCLIB files (*.hdf5)")
        return 0
    files = [f for f in sorted(pathlib.Path(where).glob("*.hdf5")) if arguments.only in f.name]
    table = {}
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        ours, siconos = compile_helpers(folder, arguments.build)
        if siconos is None:
            print("Siconos is not here (Debian: libsiconos-numerics-dev): its columns are empty")
        print(f"{'ms to full error':38s} {'contacts':>8s} | {'Stiction':^26s} | {'best of Siconos':^47s} | {'Pinocchio ADMM':^26s}")
        for file in files:
            W, q, mu, is_global = read(file)
            write(folder / "problem.bin", W, q, mu)
            row = {"Stiction": run([ours, folder / "problem.bin", *TOLERANCES], arguments.limit)}
            for name, number in SICONOS.items() if siconos else ():
                row[name] = run([siconos, folder / "problem.bin", str(number), *TOLERANCES], arguments.limit)
            row["Pinocchio"] = run_pinocchio(W, q, mu, arguments.limit)
            table[file.stem] = row
            print_row(file.stem, len(mu), row)
            if is_global:
                whole = run([ours, file, *TOLERANCES], arguments.limit)
                print(f"{'   as it is, with A and J':38s} {'':8s} | " + " ".join(milliseconds(whole.get(t)) for t in TOLERANCES))
    summary(table)
    if arguments.csv:
        with open(arguments.csv, "w", newline="") as out:
            writer = csv.writer(out)
            writer.writerow(["problem", "solver", *TOLERANCES])
            for problem, row in table.items():
                for solver, times in row.items():
                    writer.writerow([problem, solver, *[(times or {}).get(t, "") for t in TOLERANCES]])
    return 0


def best_siconos(row, tolerance):
    """(seconds, solver) of the fastest, (None, "") if none got there."""
    times = [(row[s][tolerance], s) for s in SICONOS if s in row and tolerance in row[s]]
    return min(times) if times else (None, "")


def print_row(name, contacts, row):
    siconos = [best_siconos(row, t) for t in TOLERANCES]
    text = " ".join(milliseconds(row["Stiction"].get(t)) for t in TOLERANCES)
    text += " | " + " ".join(f"{milliseconds(s)} {n:6s}" for s, n in siconos)
    text += " | " + " ".join(milliseconds((row["Pinocchio"] or {}).get(t)) for t in TOLERANCES)
    print(f"{name:38.38s} {contacts:8d} | {text}", flush=True)


def summary(table):
    for tolerance in TOLERANCES:
        fastest, ratios, solved = 0, [], 0
        for row in table.values():
            mine = row["Stiction"].get(tolerance)
            others = [times[tolerance] for name, times in row.items() if name != "Stiction" and times and tolerance in times]
            if mine is None:
                continue
            solved += 1
            fastest += not others or mine <= min(others)
            theirs = best_siconos(row, tolerance)[0]
            if theirs is not None:
                ratios.append(theirs / mine)
        mean = math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else math.nan
        print(f"full error {tolerance}: solved {solved} of {len(table)}, fastest on {fastest} ({100 * fastest / max(1, len(table)):.0f} %), "
              f"{mean:.1f} times the best Siconos solver (geometric mean of {len(ratios)})")


if __name__ == "__main__":
    sys.exit(main())
