"""Inputs and timing shared by the peers; the same as in bench/src, so that checksums can be compared."""

import argparse
import json
import statistics
import time

import numpy as np


EINSUMS = {
    "bij,bjk->bik": [(64, 128, 64), (64, 64, 128)],
    "bhqd,bhkd->bhqk": [(8, 8, 128, 64), (8, 8, 128, 64)],
    "bi,ij,bj->b": [(256, 128), (128, 128), (256, 128)],
}


def uniform(shape, seed, dtype=np.float32, scale=1.0):
    """Values in [-0.5, 0.5) * scale: the top 24 bits of splitmix64 of i + seed * 2**32."""
    golden, m1, m2 = (np.uint64(c) for c in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB))
    count = int(np.prod(shape, dtype=np.int64))
    with np.errstate(over="ignore"):
        state = np.arange(count, dtype=np.uint64) + np.uint64(seed << 32) + golden
        state = (state ^ (state >> np.uint64(30))) * m1
        state = (state ^ (state >> np.uint64(27))) * m2
        state ^= state >> np.uint64(31)
    unit = (state >> np.uint64(40)).astype(np.float64) / 2**24 - 0.5
    return (unit * scale).astype(dtype).reshape(shape)


def labels(count, classes, seed):
    return np.floor((uniform((count,), seed, np.float64) + 0.5) * classes).astype(np.int64)


def mlp(sizes, seed, dtype=np.float32, batch=()):
    """[(weight [out, in], bias [out]), ...] of scale 2 / sqrt(in)."""
    layers = []
    for k, (fan_in, out) in enumerate(zip(sizes, sizes[1:])):
        scale = 2 / np.sqrt(fan_in)
        weight = uniform((*batch, out, fan_in), seed + 2 * k, dtype, scale)
        layers.append((weight, uniform((*batch, out), seed + 2 * k + 1, dtype, scale)))
    return layers


def cnn(seed):
    """Two convolutions and two full layers, as (weight, bias), of scale 2 / sqrt(inputs of an output)."""
    layers = []
    for k, shape in enumerate([(16, 1, 8, 8), (32, 16, 4, 4), (32, 512), (10, 32)]):
        scale = 2 / np.sqrt(np.prod(shape[1:]))
        layers.append((uniform(shape, seed + 2 * k, scale=scale), uniform(shape[:1], seed + 2 * k + 1, scale=scale)))
    return layers


def checksum(leaves):
    """The weighted sum of all elements. Weights differ, so that elements in another order are noticed."""
    arrays = [np.asarray(leaf, np.float64).ravel() for leaf in leaves]
    return float(sum((a * (1 + np.arange(a.size) % 97 / 97)).sum() for a in arrays))


class Harness:
    """Times functions and prints one line of JSON for each."""

    def __init__(self, framework, wait, leaves):
        flags = argparse.ArgumentParser()
        flags.add_argument("--only", default="")
        flags.add_argument("--seconds", type=float, default=1.5)
        flags.add_argument("--threads", type=int, default=1)
        flags.add_argument("--eager", action="store_true")
        self.flags = flags.parse_args()
        self.framework, self.wait, self.leaves = f"{framework}-{self.flags.threads}t", wait, leaves

    def run(self, workload, work, inner=1):
        if self.flags.only not in workload:
            return
        line = dict(framework=self.framework, workload=workload)
        try:
            begin = time.perf_counter()
            out = work()
            self.wait(out)
            first = time.perf_counter() - begin
            for _ in range(2):
                self.wait(work())
            times, end = [], time.perf_counter() + self.flags.seconds
            while (time.perf_counter() < end and len(times) < 20000) or len(times) < 5:
                begin = time.perf_counter()
                self.wait(work())
                times.append((time.perf_counter() - begin) / inner)
            line |= dict(median_s=statistics.median(times), min_s=min(times), runs=len(times), first_call_s=first,
                         checksum=checksum(self.leaves(out)))
        except Exception as error:  # what a framework cannot do is a result too
            line["error"] = f"{type(error).__name__}: {str(error)[:200]}"
        print(json.dumps(line), flush=True)
