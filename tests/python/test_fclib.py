# SPDX-License-Identifier: Apache-2.0
"""FCLIB's problems, from the folder that STI_FCLIB names: exact Coulomb, judged by an error computed here."""
import os
import pathlib
import time

import numpy as np
import pytest

import stiction

h5py = pytest.importorskip("h5py")
sp = pytest.importorskip("scipy.sparse")
FOLDER = os.environ.get("STI_FCLIB")
FILES = sorted(p for p in pathlib.Path(FOLDER).iterdir() if p.suffix in (".h5", ".hdf5")) if FOLDER else []


def test_the_folder_is_there():
    if not FOLDER:
        pytest.skip("STI_FCLIB names no folder with FCLIB's problems: NOTHING of FCLIB was tested")
    assert FILES


def matrix(group):
    m, n, nz = (int(group[k][0]) for k in ("m", "n", "nz"))
    p, i, x = (group[k][()] for k in ("p", "i", "x"))
    if nz >= 0:
        return sp.coo_matrix((x[:nz], (i[:nz], p[:nz])), (m, n)).tocsr()
    return (sp.csc_matrix if nz == -1 else sp.csr_matrix)((x, i, p), (m, n)).tocsr()


def read(path):
    """W, q and mu, read without the library."""
    with h5py.File(path) as file:
        if "fclib_local" in file:
            g = file["fclib_local"]
            return matrix(g["W"]), g["vectors/q"][()], g["vectors/mu"][()]
        from scipy.sparse.linalg import splu
        g = file["fclib_global"]
        M, H = splu(matrix(g["M"]).tocsc()), matrix(g["H"])
        W = H.T @ M.solve(H.toarray())
        return W, H.T @ M.solve(g["vectors/f"][()]) + g["vectors/w"][()], g["vectors/mu"][()]


def full_error(path, r):
    """|r - P(r - u - mu |u_T| e_N)| / max(|q|, |r|, |u|)"""
    W, q, mu = read(path)
    u = W @ r + q
    x = (r - u).reshape(-1, 3).copy()
    x[:, 0] -= mu * np.linalg.norm(u.reshape(-1, 3)[:, 1:], axis=1)
    n, t = x[:, 0], np.linalg.norm(x[:, 1:], axis=1)
    top = np.where(t <= mu * n, n, np.maximum(0, (n + mu * t) / (1 + mu**2)))
    with np.errstate(invalid="ignore", divide="ignore"):
        shrink = np.where(t <= mu * n, 1, np.where(top > 0, mu * top / t, 0))
    p = np.column_stack([top, x[:, 1:] * shrink[:, None]])
    return np.linalg.norm(r - p.ravel()) / max(map(np.linalg.norm, (q, r, u)))


def run(path, goal):
    problem = stiction.Problem.from_file(path)
    start = time.perf_counter()
    s = stiction.solve(problem, coulomb="exact", full_error=goal)
    seconds = time.perf_counter() - start
    error = full_error(path, s.gamma)
    assert error == pytest.approx(s.certificate.full_raw, rel=1e-2, abs=1e-13)  # the certificate says the same
    return error, seconds


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_to_1e_4(path):
    error, seconds = run(path, 1e-4)
    assert error <= 1e-4 and seconds < 5


@pytest.mark.skipif(not FOLDER, reason="STI_FCLIB names no folder: NOTHING of FCLIB was tested")
def test_nine_tenths_to_1e_8():
    results = {path.stem: run(path, 1e-8) for path in FILES}
    missed = {name: r for name, r in results.items() if r[0] > 1e-8}
    assert max(r[1] for r in results.values()) < 5
    assert len(missed) <= 0.1 * len(results), missed
