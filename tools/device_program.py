# SPDX-License-Identifier: Apache-2.0
"""Compiles the stages of a step for NVIDIA GPUs: C by clang to LLVM's code; what a step calls of it to PTX, a file each; with ptxas
these to machine code, linked by nvlink. Only what changed is compiled again.

device_program.py --out FILE.ptx [--cubin FILE.cubin --ptxas PROGRAM] [--arch 90] [--embed FILE.S] --work FOLDER [--depfile FILE]
                  [--suffix=-16] [--made] [--registers N] [--level N]
--made: FILE.ptx and FOLDER/*.ptx are there, from another machine; the rest is made of them.
--registers: that a thread may have (fewer: more threads at once); 0: as many as there are. --level: of ptxas's optimisation for what steps run."""
import argparse
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDERS = "base math linear model dynamics fem collide contact solve integrate sense world gpu".split()
# of the processor alone; gpu/device/absent.c has what a device needs in their place
LEFT_OUT = {"world/capsule.c", "world/record.c", "world/picture.c", "gpu/device_batch.c", "gpu/device_order.c", "gpu/device_orders.c",
            "gpu/device_parameters.c", "gpu/device_rollout.c", "gpu/emulate.c", "gpu/load.c", "gpu/orders_here.c", "gpu/cuda/cuda.c", "base/pool.c", "base/file.c",
            "linear/factor/order_degree.c", "linear/factor/dissect.c"}
# with what worlds make of meshes when they are made
MORE = ["record/field.c"] + [f"mesh/{name}.c" for name in "distance lookup pressure stuff surface tetbuild tetmeasure tetmedial tetmesh tetshape lattice isosurface".split()]
LEAST = "sm_75"
# what steps of worlds on a device never run, or once: assembled in a hurry
COLD = re.compile(r"^(integrate_alm_|mesh_|model_|record_|world_(constrain_alm|inverse|linearize|ik|snapshot|renew|frames)|collide_(hull|links)|"
                  r"linear_factor_(symbolic|ordering|compress))")
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


def run(command, errors=False):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return done.stderr if errors else done.stdout


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
        flags, begun = CUDA_FLAGS if source.suffix == ".cu" else C_FLAGS, time.time()
        run([f"clang{options.suffix}", *flags, *FLAGS, "-MD", "-MF", rule, "-MT", code, "-c", source, "-o", code])
        os.utime(code, (begun, begun))  # what is written meanwhile is newer
    return code, rule


def entries(code, suffix):
    lines = run([f"llvm-nm{suffix}", "--defined-only", code]).splitlines()
    return [line.split()[-1] for line in lines if line.split()[1] == "T"]


def quick_copies(text):
    """LLVM copies byte by byte where it does not know how many; gpu/device/absent.c has functions that look at the alignment."""
    def call(match):
        tail, name, arguments = match.group(1, 2, 3)
        parts = [a.split() for a in arguments.split(",")]
        if parts[2][1].isdigit() and int(parts[2][1]) <= 64:
            return match.group(0)
        return f"{tail}call void @sti__gpu_{name}({parts[0][0]} {parts[0][-1]}, {parts[1][0]} {parts[1][-1]}, i64 {parts[2][1]})"
    text = re.sub(r"(tail |musttail |)call void @llvm\.(memcpy|memmove|memset)\.[a-z0-9.]*\((.*), i1 false\)(, ![a-z.]+ ![0-9]+)*", call, text)
    for name, second in ("memcpy", "ptr"), ("memmove", "ptr"), ("memset", "i8"):
        if f"@sti__gpu_{name}(" in text and not re.search(rf"^(define|declare) .*@sti__gpu_{name}\(", text, re.M):
            text += f"\ndeclare void @sti__gpu_{name}(ptr, {second}, i64)\n"
    return text


# a type that is more than a number, before the name of a function
MANY = r"(?P<type>(?:%(?:struct|union)\.|\{|\[|<).*?) (?P<name>[@%][\w.$]+)\("
DEFINED = re.compile(rf"^(?P<begin>(?:define|declare)(?: [a-z_]+)*) {MANY}(?P<rest>.*)$")
CALLED = re.compile(rf"^\s*(?P<result>%[\w.]+ = )?(?:tail |notail )?call (?P<flags>(?:[a-z]+ )*){MANY}(?P<rest>.*)$")


def without_attributes(rest):
    return re.sub(r" #\d+", "", rest)


def by_pointer(text):
    """What functions return of more than one number goes through a pointer. ptxas 13.0 forgets to set the one that it makes of such a
    result on a branch that jumps to the call."""
    out, at, slots, result = [], 0, 0, None
    for line in text.splitlines():
        defined, called = (None, None) if "@llvm." in line else (DEFINED.match(line), CALLED.match(line))
        if line.startswith("define"):
            result = defined["type"] if defined else None
        if defined:
            comma = "" if defined["rest"].startswith(")") else ", "
            name = " %its.result" if line.startswith("define") else ""
            line = f"{defined['begin']} void {defined['name']}(ptr{name}{comma}{without_attributes(defined['rest'])}"
        elif called:
            comma = "" if called["rest"].startswith(")") else ", "
            rest = without_attributes(re.sub(r"(, ![a-z.]+ ![0-9]+)+$", "", called["rest"]))
            out.insert(at, f"  %its.slot.{slots} = alloca {called['type']}, align 16")
            out.append(f"  call {called['flags']}void {called['name']}(ptr %its.slot.{slots}{comma}{rest}")
            line = f"  {called['result']}load {called['type']}, ptr %its.slot.{slots}, align 8" if called["result"] else ""
            slots += 1
        elif result and line.startswith("  ret "):
            value = re.sub(r"(, ![a-z.]+ ![0-9]+)+$", "", line.removeprefix("  ret ").removeprefix(result))
            out.append(f"  store {result}{value}, ptr %its.result, align 8")
            line = "  ret void"
        out.append(line)
        if line.startswith("define"):
            at = len(out)
    return "\n".join(out) + "\n"


def without_variadic(text):
    """Functions of any number of arguments (they print errors) get those that have a name: a device's printing reads no others, and PTX
    of LLVM passes them wrongly."""
    out = []
    for line in text.splitlines():
        if re.search(r"call void @llvm\.va_(start|end|copy)", line):
            continue
        called = re.match(r"^(.*call [^(]*?)\(([^()]*), \.\.\.\) (@[\w.$]+)\((.*)\)([^)]*)$", line)
        if called:
            begin, types, name, arguments, rest = called.groups()
            kept = re.split(r", (?![^(]*\))", arguments)[:len(types.split(", "))]
            line = f"{begin}{name}({', '.join(kept)}){rest}"
        elif line.startswith(("define", "declare")):
            line = line.replace(", ...)", ")")
        out.append(line)
    return "\n".join(out) + "\n"


MADE = re.compile(r"\s*(?:@\S+\s+)?(?:add|sub|mov|selp|or|and)\.\w+\s+(%\w+),\s*(.*);")
REACHED = re.compile(r"(\s*(?:@\S+\s+)?(?:ld|st))(\.\S+)(\s.*\[(%\w+).*)")
PASSED = re.compile(r"\s*st\S*\.[bu]64\s+\[.*\],\s*(%\w+);")


def grown(lines, first):
    """Registers that follow from one by arithmetic and moves."""
    found, before = {first}, 0
    while len(found) > before:
        before = len(found)
        for line in lines:
            made = MADE.match(line)
            if made and not found.isdisjoint(re.findall(r"%\w+", made[2])):
                found.add(made[1])
    return found


def local_accesses(lines, name):
    """LLVM 16 makes addresses of arrays on the stack that are local (from %SPL), and now and then loads from them as if they were generic
    ones (from %SP): such loads get their `.local`."""
    if not any("%SPL" in line for line in lines):
        return lines
    local, generic, out = grown(lines, "%SPL"), grown(lines, "%SP"), []
    for line in lines:
        access, passed = REACHED.match(line), PASSED.match(line)
        if passed and passed[1] in local:
            sys.exit(f"{name}: a local address is passed on: {line.strip()}")
        if access and not access[2].startswith((".param", ".global", ".shared")):
            begin, kind, rest, register = access.groups()
            if register in local & generic or (register in generic and kind.startswith(".local")):
                sys.exit(f"{name}: an address is local and generic: {line.strip()}")
            if register in local and not kind.startswith(".local"):
                line = f"{begin}.local{kind}{rest}"
        out.append(line)
    return out


def with_local_accesses(ptx, name):
    out, function = [], None
    for line in ptx.split("\n"):
        if line == "{":
            function = []
        if function is None:
            out.append(line)
            continue
        function.append(line)
        if line == "}":
            out += local_accesses(function, name)
            function = None
    return "\n".join(out)


def to_ptx(code, kept, out, options):
    """What is reached from `kept` of LLVM's code, as PTX; whether that is new."""
    used, text = code.with_suffix(".used.bc"), code.with_suffix(".ll")
    run([f"opt{options.suffix}", "-passes=internalize,globaldce", f"-internalize-public-api-list={','.join(kept)}", code, "-S", "-o", text])
    text.write_text(by_pointer(without_variadic(quick_copies(text.read_text()))))
    run([f"llc{options.suffix}", "-O2", f"-mcpu={LEAST}", "-mattr=+ptx75", "--fp-contract=off", text, "-o", used.with_suffix(".ptx")])
    # LLVM's own fmod leaves the rounding open: nothing may be contracted
    ptx = re.sub(r"\b(add|sub|mul)\.f64", r"\1.rn.f64", used.with_suffix(".ptx").read_text())
    if "retval0[" in ptx or "vararg" in ptx:
        sys.exit(f"{out.name}: a function still returns more than a number, or has any number of arguments")
    ptx = with_local_accesses(ptx, out.name)
    if not out.exists() or out.read_text() != ptx:
        out.write_text(ptx)


def names_of(code, options, *flags):
    return {line.split()[-1] for line in run([f"llvm-nm{options.suffix}", *flags, code]).splitlines()}


def link(codes, options):
    """PTX of all together, for GPUs that the build has no machine code for, and of each file."""
    whole, used = options.work / "whole.bc", options.work / "used.bc"
    kept = entries(codes[-1], options.suffix) + ["sti_gpu_reordered"]
    copies = ["sti__gpu_memcpy", "sti__gpu_memmove", "sti__gpu_memset"]
    run([f"llvm-link{options.suffix}", *codes, "-o", whole])
    run([f"opt{options.suffix}", "-passes=internalize,globaldce", f"-internalize-public-api-list={','.join(kept + copies)}", whole, "-o", used])
    missing = run([f"llvm-nm{options.suffix}", "-u", used]).split()[1::2]
    if missing:
        sys.exit("a device has none of: " + " ".join(missing))
    reached = names_of(used, options, "--defined-only")
    modules = options.work / "modules"
    modules.mkdir(exist_ok=True)
    for stale in {p.name for p in modules.glob("*.ptx")} - {code.name.removesuffix(".bc") + ".ptx" for code in codes}:
        (modules / stale).unlink()

    def one(code):
        mine = names_of(code, options, "--defined-only", "--extern-only") & reached
        out = modules / (code.name.removesuffix(".bc") + ".ptx")
        if mine:
            to_ptx(code, sorted(mine), out, options)
        elif out.exists():
            out.unlink()
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(one, codes))
    to_ptx(used, kept + copies, options.out, options)


def assemble(options):
    """Machine code of all modules, those that changed anew, linked."""
    modules = options.work / "modules"
    hot = [f"-O{options.level}"] + ([f"-func-maxrregcount={options.registers}"] if options.registers else [])
    objects = options.work / f"objects_{options.level}_{options.registers}"
    objects.mkdir(exist_ok=True)

    def one(source):
        made, report = objects / (source.stem + ".o"), objects / (source.stem + ".txt")
        if made.exists() and made.stat().st_mtime > source.stat().st_mtime:
            return made
        begun = time.time()
        flags = ["--Ofast-compile=max", *hot[1:]] if COLD.match(source.name) else hot
        if "entry.cu" in source.name and options.registers:
            flags = [*hot, f"-maxrregcount={options.registers}"]
        told = run([options.ptxas, f"-arch=sm_{options.arch}", "-c", "-v", *flags, "--fmad=false", source, "-o", made], errors=True)
        report.write_text(f"{time.time() - begun:.1f} s\n{told}")
        return made
    sources = sorted(modules.glob("*.ptx"), key=lambda p: -p.stat().st_size)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        made = list(pool.map(one, sources))
    nvlink = pathlib.Path(options.ptxas).with_name("nvlink")
    run([nvlink, f"-arch=sm_{options.arch}", *made, "-o", options.cubin])


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


def main():
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
    parser.add_argument("--registers", type=int, default=168)
    parser.add_argument("--level", type=int, default=3)
    options = parser.parse_args()
    made = []
    if not options.made:
        options.work.mkdir(parents=True, exist_ok=True)
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            made = list(pool.map(lambda source: compile_one(source, options), sources()))
        link([code for code, _ in made], options)
    if options.cubin and not (options.made and options.cubin.exists()):
        assemble(options)
    if options.embed:
        options.embed.write_text(embedding(options))
    if options.depfile:
        files = sorted({f for _, rule in made for f in depends(rule)} | {str(pathlib.Path(__file__).resolve())})
        options.depfile.write_text(f"{options.embed or options.out}: {' '.join(files)}\n")


if __name__ == "__main__":
    main()
