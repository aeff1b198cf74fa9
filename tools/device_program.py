# SPDX-License-Identifier: Apache-2.0
"""Compiles the stages of a step for NVIDIA GPUs: C by clang to LLVM's code, all of it linked, unused functions dropped, the rest to
PTX; and with ptxas to machine code. Only what changed is compiled again.

device_program.py --out FILE.ptx [--cubin FILE.cubin --ptxas PROGRAM] [--arch 90] [--embed FILE.S] --work FOLDER [--depfile FILE]
                  [--suffix=-16] [--made]
--made: FILE.ptx is there, and perhaps FILE.cubin, from another machine; the rest is made of them."""
import argparse
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDERS = "base math linear model dynamics fem collide contact solve integrate sense world gpu".split()
# of the processor alone; gpu/device/absent.c has what a device needs in their place
LEFT_OUT = {"world/capsule.c", "world/record.c", "world/picture.c", "gpu/device_batch.c", "gpu/emulate.c", "gpu/load.c",
            "gpu/cuda/cuda.c", "base/pool.c", "base/file.c"}
MORE = ["record/field.c"]
LEAST = "sm_75"
# mcmodel: tables of addresses relative to themselves are not for PTX; inline-threshold: LLVM takes eleven times this for PTX
FLAGS = ["-O2", "-mllvm", "-inline-threshold=20", "-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math", "-Xclang", "-mcmodel=large", "-emit-llvm", "-nogpulib",
         f"-I{ROOT}/include", f"-I{ROOT}/src"]
C_FLAGS = ["--target=nvptx64-nvidia-cuda", f"-march={LEAST}", "-std=gnu17", "-D_GNU_SOURCE", "-DNDEBUG", "-DSTI_LANES=1",
           "-DSTI_ONE_LANE", "-w", "-D__x86_64__", "-isystem", "/usr/include/x86_64-linux-gnu"]
CUDA_FLAGS = ["-x", "cuda", f"--cuda-gpu-arch={LEAST}", "--cuda-device-only", "-nocudainc", "-nocudalib"]


def sources():
    found = [p for f in FOLDERS for p in sorted((ROOT / "src" / f).rglob("*.c"))]
    found = [p for p in found if p.relative_to(ROOT / "src").as_posix() not in LEFT_OUT]
    return found + [ROOT / "src" / p for p in MORE] + [ROOT / "src/gpu/device/entry.cu"]


def run(command):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return done.stdout


def depends(path):
    """The files that a make rule names."""
    return path.read_text().partition(":")[2].replace("\\\n", " ").split() if path.exists() else None


def is_fresh(code, rule):
    files = depends(rule)
    return bool(files) and code.exists() and all(os.path.exists(f) and os.path.getmtime(f) <= code.stat().st_mtime for f in files)


def compile_one(source, options):
    name = source.relative_to(ROOT / "src").as_posix().replace("/", "_")
    code, rule = options.work / (name + ".bc"), options.work / (name + ".d")
    if not is_fresh(code, rule):
        flags = CUDA_FLAGS if source.suffix == ".cu" else C_FLAGS
        run([f"clang{options.suffix}", *flags, *FLAGS, "-MD", "-MF", rule, "-MT", code, "-c", source, "-o", code])
    return code, rule


def entries(code, suffix):
    lines = run([f"llvm-nm{suffix}", "--defined-only", code]).splitlines()
    return [line.split()[-1] for line in lines if line.split()[1] == "T"]


def link(codes, options):
    whole, used = options.work / "whole.bc", options.work / "used.bc"
    kept = ",".join(entries(codes[-1], options.suffix) + ["sti_gpu_reordered"])
    run([f"llvm-link{options.suffix}", *codes, "-o", whole])
    run([f"opt{options.suffix}", "-passes=internalize,globaldce", f"-internalize-public-api-list={kept}", whole, "-o", used])
    missing = run([f"llvm-nm{options.suffix}", "-u", used]).split()[1::2]
    if missing:
        sys.exit("a device has none of: " + " ".join(missing))
    run([f"llc{options.suffix}", "-O2", f"-mcpu={LEAST}", "-mattr=+ptx75", "--fp-contract=off", used, "-o", options.out])
    # LLVM's own fmod leaves the rounding open: nothing may be contracted
    options.out.write_text(re.sub(r"\b(add|sub|mul)\.f64", r"\1.rn.f64", options.out.read_text()))


def embedding(options):
    """Assembly that has the program in it, as gpu/cuda/cuda.c wants it."""
    def piece(name, path):
        content = f'    .incbin "{path.resolve()}"\n' if path else ""
        return (f"    .global {name}, {name}_size\n    .hidden {name}, {name}_size\n    .balign 64\n{name}:\n{content}{name}_end:\n"
                f"    .byte 0\n    .balign 8\n{name}_size:\n    .quad {name}_end - {name}\n")
    arch = options.arch if options.cubin else 0
    return ("    .section .rodata\n" + piece("sti_cuda_ptx", options.out) + piece("sti_cuda_cubin", options.cubin) +
            f"    .global sti_cuda_cubin_arch\n    .hidden sti_cuda_cubin_arch\n    .balign 8\nsti_cuda_cubin_arch:\n    .int {arch}\n"
            '    .section .note.GNU-stack, "", @progbits\n')


parser = argparse.ArgumentParser()
parser.add_argument("--out", type=pathlib.Path, required=True)
parser.add_argument("--work", type=pathlib.Path)
parser.add_argument("--cubin", type=pathlib.Path)
parser.add_argument("--ptxas")
parser.add_argument("--embed", type=pathlib.Path)
parser.add_argument("--arch", default="90")
parser.add_argument("--depfile", type=pathlib.Path)
parser.add_argument("--suffix", default="-16")
parser.add_argument("--made", action="store_true")
options = parser.parse_args()
made = []
if not options.made:
    options.work.mkdir(parents=True, exist_ok=True)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        made = list(pool.map(lambda source: compile_one(source, options), sources()))
    link([code for code, _ in made], options)
if options.cubin and not (options.made and options.cubin.exists()):
    run([options.ptxas, f"-arch=sm_{options.arch}", "--Ofast-compile=max", "--fmad=false", options.out, "-o", options.cubin])
if options.embed:
    options.embed.write_text(embedding(options))
if options.depfile:
    files = sorted({f for _, rule in made for f in depends(rule)} | {str(pathlib.Path(__file__).resolve())})
    options.depfile.write_text(f"{options.embed or options.out}: {' '.join(files)}\n")
