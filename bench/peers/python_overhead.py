#!/usr/bin/env python3
"""What a call from Python costs, against PyTorch in the same process: small tensors, so that only the overhead counts.

    scripts/python                           # installs the package into target/python
    python3 bench/peers/python_overhead.py   # with PyTorch of target/peers, or of the environment that PULLBACK_PEERS names

Both libraries take turns, and the best of many short runs counts. A ratio is our time by PyTorch's: below 1 is faster.
"""

import argparse
import os
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def find():
    """Runs this script in the peers' environment, with our package at the end of the path."""
    peers = Path(os.environ.get("PULLBACK_PEERS", ROOT / "target/peers")) / "bin/python"
    if not peers.exists():
        sys.exit(f"{peers} is missing; `scripts/compare --install` makes it")
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "python/lib"
    paths = [*os.environ.get("PYTHONPATH", "").split(os.pathsep), *map(str, target.glob("python*/site-packages"))]
    os.environ.update(PULLBACK_PATH=os.pathsep.join(filter(None, paths)), PYTHONPATH="")
    os.execv(peers, [str(peers), *sys.argv])


if "PULLBACK_PATH" not in os.environ:
    find()
sys.path += os.environ["PULLBACK_PATH"].split(os.pathsep)

import torch

import pullback as pb


def functions(lib, tensor):
    """The workloads, in the words that both libraries share."""
    func = lib.func
    x, y = tensor([1.5]), tensor([2.5])
    scalar, many = tensor(0.7), tensor([0.1 * k for k in range(16)])
    leaf = tensor([1.5]).requires_grad_()
    one = tensor([1.0])

    class Cube(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x * x

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return g * 3 * x * x

    class Split(lib.autograd.Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(x):
            return x * x * x

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(*inputs)

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return g * 3 * x * x

    def f(x):
        return (x.sin() * (-x * x).exp() + x.tanh()).sum()

    def imperative():
        return lib.autograd.grad(f(leaf), leaf)

    def function_with_grad():
        return lib.autograd.grad(Cube.apply(leaf), leaf, one)

    return {
        "x + y": (lambda: x + y, 1 / 3),
        "x.sin()": (lambda: x.sin(), 1 / 3),
        "x * 2.0": (lambda: x * 2.0, 1 / 3),
        "x.sum()": (lambda: x.sum(), 1 / 3),
        "x.reshape(1, 1)": (lambda: x.reshape(1, 1), 1 / 3),
        "x[0]": (lambda: x[0], 1 / 3),
        "leaf * y, recorded": (lambda: leaf * y, 1 / 3),
        "autograd.grad(f(leaf), leaf)": (imperative, None),
        "Function.apply": (lambda: Cube.apply(x), None),
        "Function.apply with grad": (function_with_grad, 1 / 5),
        "grad(f)": (lambda: func.grad(f)(scalar), None),
        "grad(grad(f))": (lambda: func.grad(func.grad(f))(scalar), None),
        "vmap(grad(f))": (lambda: func.vmap(func.grad(f))(many), 1 / 10),
        "vmap(grad(Function))": (lambda: func.vmap(func.grad(Split.apply))(many), 1 / 10),
        "jvp(f)": (lambda: func.jvp(f, (scalar,), (scalar,)), None),
        "jacrev(f)": (lambda: func.jacrev(f)(many), None),
        "hessian(f)": (lambda: func.hessian(f)(many), None),
    }


def seconds(call, count):
    begin = time.perf_counter()
    for _ in range(count):
        call()
    return (time.perf_counter() - begin) / count


def main():
    flags = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    flags.add_argument("--seconds", type=float, default=1.0, help="for each workload")
    flags.add_argument("--only", default="", help="part of the name of a workload")
    flags = flags.parse_args()
    torch.set_num_threads(1)
    pb.set_num_threads(1)
    ours = functions(pb, lambda value: pb.tensor(value, dtype=pb.float32))
    theirs = functions(torch, torch.tensor)
    print(f"{'':30} {'pullback':>11} {'torch':>11} {'ratio':>7} {'wanted':>7}")
    for name, (call, wanted) in ours.items():
        if flags.only not in name:
            continue
        other = theirs[name][0]
        best = [float("inf"), float("inf")]
        counts = [max(1, int(0.005 / max(seconds(f, 3), 1e-7))) for f in (call, other)]
        end = time.perf_counter() + flags.seconds
        while time.perf_counter() < end:
            for k, f in enumerate((call, other)):
                best[k] = min(best[k], seconds(f, counts[k]))
        ratio = best[0] / best[1]
        goal = "" if wanted is None else f"{wanted:7.3f}{' ' if ratio <= wanted else ' missed'}"
        print(f"{name:30} {best[0] * 1e6:8.2f} µs {best[1] * 1e6:8.2f} µs {ratio:7.3f} {goal}")


main()
