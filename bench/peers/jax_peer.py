"""The workloads in JAX, compiled by jit, or with --eager each operation on its own."""

import os
import sys

if "--threads" in sys.argv and sys.argv[sys.argv.index("--threads") + 1] == "1":
    os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"

import jax

jax.config.update("jax_enable_x64", True)
import jax.numpy as jnp
import numpy as np
from jax import grad, hessian, jacfwd, jacrev, vmap

from harness import EINSUMS, Harness, cnn, labels, mlp, uniform


h = Harness("jax-eager" if "--eager" in sys.argv else "jax-jit", jax.block_until_ready, jax.tree_util.tree_leaves)


def jit(function):
    return function if h.flags.eager else jax.jit(function)


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


def conv(x, w, b, stride, padding):
    y = jax.lax.conv_general_dilated(x, w, (stride, stride), [(padding, padding)] * 2, dimension_numbers=("NCHW", "OIHW", "NCHW"))
    return y if b is None else y + b[:, None, None]


def pooled(x):
    return jax.lax.reduce_window(jnp.tanh(x), -jnp.inf, jax.lax.max, (1, 1, 2, 2), (1, 1, 1, 1), "VALID")


def convolutional(layers, x, y):
    x = pooled(conv(x[None], *layers[0], 2, 3))
    x = pooled(conv(x, *layers[1], 2, 0))
    logits = jax.nn.log_softmax(network(layers[2:], x.reshape(-1)))
    return -logits[y]


images, digits = jnp.asarray(uniform((64, 1, 28, 28), 40)), jnp.asarray(labels(64, 10, 41))
run("per_sample_cnn", vmap(grad(convolutional), in_axes=(None, 0, 0)), arrays(cnn(30)), images, digits)


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

million = jnp.asarray(uniform((1 << 20,), 210, np.float32, 4.0))
table = jnp.asarray(uniform((1024, 1024), 211, np.float32, 4.0))


def sort(x, d=0):
    return jax.lax.sort((x, jax.lax.broadcasted_iota(jnp.int64, x.shape, d)), dimension=d, num_keys=1)


run("sort1M", sort, million)
run("argsort1M", jnp.argsort, million)
run("topk1M", lambda x: jax.lax.top_k(x, 100)[0], million)
for d in range(2):
    run(f"sort1024_d{d}", lambda x, d=d: sort(x, d), table)
    run(f"topk1024_d{d}", lambda x, d=d: jax.lax.top_k(x, 10, axis=d)[0], table)
near = 1 + million * np.float32(1e-3)
run("cumsum1M", jnp.cumsum, million)
run("cumprod1M", jnp.cumprod, near)
run("logcumsumexp1M", jax.lax.cumlogsumexp, million)
for d in range(2):
    run(f"cumsum1024_d{d}", lambda x, d=d: jnp.cumsum(x, d), table)

where, columns = jnp.asarray(labels(1 << 20, 1 << 20, 220)), jnp.asarray(labels(1 << 20, 1024, 221).reshape(1024, 1024))
zeros = jnp.zeros(1 << 20, jnp.float32)
rows, chosen = jnp.asarray(uniform((100_000, 64), 222)), jnp.asarray(labels(1 << 14, 100_000, 223))
added, mask = jnp.asarray(uniform((1 << 14, 64), 224)), million > 0
place = jnp.arange(1024)
run("gather1M", lambda x, i: jnp.take(x, i), million, where)
run("scatter_add1M", lambda x, i, y: x.at[i].add(y), zeros, where, million)
for d in range(2):
    run(f"gather1024_d{d}", lambda x, i, d=d: jnp.take_along_axis(x, i, d), table, columns)
    at = (lambda i: (i, place[None, :])) if d == 0 else (lambda i: (place[:, None], i))
    run(f"scatter_add1024_d{d}", lambda x, i, y, at=at: x.at[at(i)].add(y), table, columns, table)
run("index_select1M", lambda x, i: jnp.take(x, i, axis=0), rows, chosen)
run("index_add1M", lambda x, i, y: x.at[i].add(y), rows, chosen, added)
run("masked_fill1M", lambda x, m: jnp.where(m, np.float32(0.5), x), million, mask)
run("where1M", jnp.where, mask, million, near)

for equation, shapes in EINSUMS.items():
    operands = [jnp.asarray(uniform(shape, 230 + k)) for k, shape in enumerate(shapes)]
    run(f"einsum_{equation}", lambda *x, equation=equation: jnp.einsum(equation, *x), *operands)

block = jnp.asarray(uniform((256, 128, 64), 240, np.float32, 4.0))
close = 1 + np.float32(0.05) * block
reductions = dict(sum=jnp.sum, max=jnp.max, mean=jnp.mean, var=lambda x, d: jnp.var(x, d, ddof=1), argmax=jnp.argmax,
                  prod=jnp.prod, logsumexp=jax.scipy.special.logsumexp, norm=lambda x, d: jnp.linalg.norm(x, axis=d))
for name, reduce in reductions.items():
    for d in range(3):
        run(f"reduce_{name}_d{d}", lambda x, d=d, reduce=reduce: reduce(x, d), close if name == "prod" else block)


def with_gradient(name, function, *args):
    run(name, function, *args)
    run(f"{name}_grad", grad(lambda args: jnp.square(function(*args)).sum()), args)


def layer_norm(x, w, b):
    centred = x - x.mean(-1, keepdims=True)
    return centred * jax.lax.rsqrt(jnp.square(centred).mean(-1, keepdims=True) + 1e-5) * w + b


def attention(q, k, v, causal):
    scores = q @ k.swapaxes(-1, -2) / np.float32(8)
    if causal:
        scores = jnp.where(jnp.tril(jnp.ones(scores.shape[-2:], bool)), scores, -jnp.inf)
    return jax.nn.softmax(scores) @ v


with_gradient("conv2d", lambda x, w: conv(x, w, None, 1, 1), jnp.asarray(uniform((8, 32, 56, 56), 210)),
              jnp.asarray(uniform((64, 32, 3, 3), 211, scale=0.1)))
with_gradient("layer_norm", layer_norm, jnp.asarray(uniform((512, 1024), 220, scale=2)), jnp.asarray(uniform((1024,), 221, scale=2)),
              jnp.asarray(uniform((1024,), 222, scale=2)))
heads = [jnp.asarray(uniform((2, 8, 512, 64), seed, scale=2)) for seed in (230, 231, 232)]
with_gradient("sdpa", lambda q, k, v: attention(q, k, v, False), *heads)
with_gradient("sdpa_causal", lambda q, k, v: attention(q, k, v, True), *heads)

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
