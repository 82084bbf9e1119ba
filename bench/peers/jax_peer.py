"""The workloads in JAX, compiled by jit."""

import os
import sys

if "--threads" in sys.argv and sys.argv[sys.argv.index("--threads") + 1] == "1":
    os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"

import jax

jax.config.update("jax_enable_x64", True)
import jax.numpy as jnp
import numpy as np
from jax import grad, hessian, jacfwd, jacrev, jit, vmap

from harness import Harness, labels, mlp, uniform


def total(out):
    return sum(float(leaf.astype(jnp.float64).sum()) for leaf in jax.tree_util.tree_leaves(out))


h = Harness("jax-jit", jax.block_until_ready, total)


def run(name, function, *args, inner=1):
    compiled = jit(function)
    h.run(name, lambda: compiled(*args), inner=inner)


def arrays(layers):
    return [(jnp.asarray(w), jnp.asarray(b)) for w, b in layers]


def network(layers, x):
    for w, b in layers[:-1]:
        x = jnp.tanh(x @ w.T + b)
    return x @ layers[-1][0].T + layers[-1][1]


def loss(layers, x, y):
    logits = jax.nn.log_softmax(network(layers, x))
    return -jnp.take_along_axis(logits, y[..., None], -1).mean()


a, b = jnp.asarray(uniform((1,), 1)), jnp.asarray(uniform((1,), 2))
add = jit(lambda a, b: a + b)


def add_many():
    for _ in range(1000):
        r = add(a, b)
    return r


h.run("add1", add_many, inner=1000)
a8, b8 = jnp.asarray(uniform((8, 8), 4)), jnp.asarray(uniform((8, 8), 5))
matmul = jit(jnp.matmul)


def matmul_many():
    for _ in range(1000):
        r = matmul(a8, b8)
    return r


h.run("matmul8", matmul_many, inner=1000)


def scalar(x):
    return jnp.sin(x) * jnp.exp(-x * x) + jnp.tanh(x)


point = jnp.float64(0.7)
run("scalar_grad", grad(scalar), point)
run("scalar_grad3", grad(grad(grad(scalar))), point)


@jax.custom_vjp
def cube(x):
    return x**3


cube.defvjp(lambda x: (x**3, 3 * x**2), lambda slope, g: (g * slope,))
run("custom_grad", grad(cube), point)
run("custom_vmap_grad", vmap(grad(cube)), jnp.asarray(uniform((64,), 3, np.float64)))

layers, x, y = arrays(mlp([784, 128, 10], 10)), jnp.asarray(uniform((256, 784), 20)), jnp.asarray(labels(256, 10, 21))
run("per_sample_mlp", vmap(grad(loss), in_axes=(None, 0, 0)), layers, x, y)


def rosenbrock(x):
    return (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()


run("hessian_rosenbrock64", hessian(rosenbrock), jnp.asarray(uniform((64,), 50, np.float64, 2.0)))
field = arrays(mlp([2, 32, 32, 1], 60, np.float64))
laplacian = vmap(lambda x: jnp.trace(hessian(lambda v: network(field, v)[0])(x)))
run("vmap_laplacian_mlp", laplacian, jnp.asarray(uniform((128, 2), 70, np.float64, 2.0)))
net, at = arrays(mlp([64, 128, 64], 80)), jnp.asarray(uniform((64,), 90))
run("jacrev_mlp", jacrev(lambda v: network(net, v)), at)
run("jacfwd_mlp", jacfwd(lambda v: network(net, v)), at)


def definite(count, n):
    x = jnp.asarray(uniform((count, n, n), 160, np.float64))
    return x @ x.mT + n * jnp.eye(n)


def log_det(m):
    return 2 * jnp.log(jnp.diagonal(jnp.linalg.cholesky(m))).sum()


run("vmap_grad_logdet", vmap(grad(log_det)), definite(1000, 8))
for count, n in [(1000, 8), (64, 64), (1, 512)]:
    run(f"cholesky_{count}x{n}", jnp.linalg.cholesky, definite(count, n))


def chain(v):
    return (jnp.tanh(2 * v + 1) * jnp.exp(-v * v) + jnp.sqrt(jnp.abs(v) + 1)).sum()


big = jnp.asarray(uniform((4_000_000,), 100, np.float32, 4.0))
run("chain4M_forward", chain, big)
run("chain4M_grad", grad(chain), big)
for dtype, name in ((np.float32, "f32"), (np.float64, "f64")):
    left, right = (jnp.asarray(uniform((1024, 1024), seed, dtype)) for seed in (110, 111))
    run(f"matmul1024_{name}", lambda a, b: a @ b, left, right)

row = jnp.asarray(uniform((1 << 20,), 200, np.float32, 4.0))
positive = jnp.abs(row) + np.float32(0.01)
maps = dict(exp=jnp.exp, log=jnp.log, tanh=jnp.tanh, sin=jnp.sin, cos=jnp.cos, erf=jax.scipy.special.erf,
            sigmoid=jax.nn.sigmoid, sqrt=jnp.sqrt, log1p=jnp.log1p)
for name, function in maps.items():
    run(f"map1M_{name}", function, positive if name in ("log", "sqrt", "log1p") else row)
run("map1M_add", lambda a, b: a + b, row, positive)
run("sum1M", jnp.sum, row)
run("softmax_128x1000", jax.nn.softmax, jnp.asarray(uniform((128, 1000), 201, np.float32, 4.0)))

members = arrays(mlp([784, 128, 10], 120, batch=(32,)))
run("ensemble32", vmap(network, in_axes=(0, None)), members, jnp.asarray(uniform((64, 784), 130)))
trained = arrays(mlp([784, 512, 512, 10], 140))
tx, ty = jnp.asarray(uniform((128, 784), 150)), jnp.asarray(labels(128, 10, 151))


def train_step(layers):
    return jax.tree_util.tree_map(lambda p, g: p - 0.1 * g, layers, grad(loss)(layers, tx, ty))


run("train_step_mlp", train_step, trained)


def step(u, _):
    x, y = u[0], u[1]
    return u + 0.01 * jnp.stack([x * (1.1 - 0.4 * y), y * (0.1 * x - 0.4)]), None


def lotka(start):
    return jax.lax.scan(step, start, None, length=100)[0].sum()


def lotka_again(start):
    part = jax.checkpoint(lambda u, _: jax.lax.scan(step, u, None, length=10))
    return jax.lax.scan(part, start, None, length=10)[0].sum()


start = jnp.asarray(np.array([10.0, 5.0]))
run("ode100_grad", grad(lotka), start)
run("ode100_grad_scan", grad(lotka), start)
run("ode100_grad_checkpoint", grad(lotka_again), start)
