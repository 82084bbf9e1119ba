"""The workloads in PyTorch, eager, with torch.func."""

import sys

import numpy as np
import torch
from torch.func import grad, hessian, jacfwd, jacrev, vmap
from torch.nn import functional as F
from torch.nn.functional import cross_entropy, linear
from torch.utils._pytree import tree_leaves

from harness import EINSUMS, Harness, cnn, labels, mlp, uniform

h = Harness("torch", lambda out: None, lambda out: [t.numpy() for t in tree_leaves(out)])
torch.set_num_threads(h.flags.threads)


def tensor(array):
    return torch.from_numpy(np.ascontiguousarray(array))


def tensors(layers):
    return [(tensor(w), tensor(b)) for w, b in layers]


def network(layers, x):
    for w, b in layers[:-1]:
        x = torch.tanh(linear(x, w, b))
    return linear(x, *layers[-1])


def loss(layers, x, y):
    return cross_entropy(network(layers, x), y)


a, b = tensor(uniform((1,), 1)), tensor(uniform((1,), 2))


def add_many():
    for _ in range(1000):
        r = a + b
    return r


h.run("add1", add_many, inner=1000)
a8, b8 = tensor(uniform((8, 8), 4)), tensor(uniform((8, 8), 5))


def matmul_many():
    for _ in range(1000):
        r = a8 @ b8
    return r


h.run("matmul8", matmul_many, inner=1000)


def scalar(x):
    return torch.sin(x) * torch.exp(-x * x) + torch.tanh(x)


point = torch.tensor(0.7, dtype=torch.float64)
h.run("scalar_grad", lambda: grad(scalar)(point))
h.run("scalar_grad3", lambda: grad(grad(grad(scalar)))(point))


class Cube(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x):
        return x**3, 3 * x**2

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(inputs[0], output[1])

    @staticmethod
    def backward(ctx, g, k):
        x, slope = ctx.saved_tensors
        return g * slope + k * 6 * x


def cube(x):
    return Cube.apply(x)[0]


xs = tensor(uniform((64,), 3, np.float64))
h.run("custom_grad", lambda: grad(cube)(point))
h.run("custom_vmap_grad", lambda: vmap(grad(cube))(xs))

layers, x, y = tensors(mlp([784, 128, 10], 10)), tensor(uniform((256, 784), 20)), tensor(labels(256, 10, 21))
h.run("per_sample_mlp", lambda: vmap(grad(loss), in_dims=(None, 0, 0))(layers, x, y))



def convolutional(layers, x):
    x = x.unsqueeze(0)
    x = F.max_pool2d(torch.tanh(F.conv2d(x, *layers[0], stride=2, padding=3)), 2, 1)
    x = F.max_pool2d(torch.tanh(F.conv2d(x, *layers[1], stride=2)), 2, 1)
    return network(layers[2:], x.flatten(1))[0]


images, digits = tensor(uniform((64, 1, 28, 28), 40)), tensor(labels(64, 10, 41))
per_image = vmap(grad(lambda p, x, y: cross_entropy(convolutional(p, x), y)), in_dims=(None, 0, 0))
kernels = tensors(cnn(30))
h.run("per_sample_cnn", lambda: per_image(kernels, images, digits))

z = tensor(uniform((64,), 50, np.float64, 2.0))


def rosenbrock(x):
    return (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()


h.run("hessian_rosenbrock64", lambda: hessian(rosenbrock)(z))
field = tensors(mlp([2, 32, 32, 1], 60, np.float64))
points = tensor(uniform((128, 2), 70, np.float64, 2.0))


def laplacian(x):
    return torch.trace(hessian(lambda v: network(field, v)[0])(x))


h.run("vmap_laplacian_mlp", lambda: vmap(laplacian)(points))
net, at = tensors(mlp([64, 128, 64], 80)), tensor(uniform((64,), 90))
h.run("jacrev_mlp", lambda: jacrev(lambda v: network(net, v))(at))
h.run("jacfwd_mlp", lambda: jacfwd(lambda v: network(net, v))(at))


def definite(count, n):
    x = tensor(uniform((count, n, n), 160, np.float64))
    return x @ x.mT + n * torch.eye(n, dtype=torch.float64)


def log_det(m):
    return 2 * torch.log(torch.diagonal(torch.linalg.cholesky(m))).sum()


small = definite(1000, 8)
h.run("vmap_grad_logdet", lambda: vmap(grad(log_det))(small))
for count, n in [(1000, 8), (64, 64), (1, 512)]:
    h.run(f"cholesky_{count}x{n}", lambda a=definite(count, n): torch.linalg.cholesky(a))

big = tensor(uniform((4_000_000,), 100, np.float32, 4.0))


def chain(v):
    return (torch.tanh(2 * v + 1) * torch.exp(-v * v) + torch.sqrt(torch.abs(v) + 1)).sum()


h.run("chain4M_forward", lambda: chain(big))
h.run("chain4M_grad", lambda: grad(chain)(big))
for dtype, name in ((np.float32, "f32"), (np.float64, "f64")):
    left, right = tensor(uniform((1024, 1024), 110, dtype)), tensor(uniform((1024, 1024), 111, dtype))
    h.run(f"matmul1024_{name}", lambda: left @ right)

row = tensor(uniform((1 << 20,), 200, np.float32, 4.0))
positive = row.abs() + 0.01
for name in ("exp", "log", "tanh", "sin", "cos", "erf", "sigmoid", "sqrt", "log1p"):
    arg = positive if name in ("log", "sqrt", "log1p") else row
    h.run(f"map1M_{name}", lambda f=getattr(torch, name), arg=arg: f(arg))
h.run("map1M_add", lambda: row + positive)
h.run("sum1M", lambda: row.sum())
rows = tensor(uniform((128, 1000), 201, np.float32, 4.0))
h.run("softmax_128x1000", lambda: torch.softmax(rows, -1))

million = tensor(uniform((1 << 20,), 210, np.float32, 4.0))
table = tensor(uniform((1024, 1024), 211, np.float32, 4.0))
h.run("sort1M", lambda: torch.sort(million, stable=True))
h.run("argsort1M", lambda: torch.argsort(million, stable=True))
h.run("topk1M", lambda: torch.topk(million, 100)[0])
for d in range(2):
    h.run(f"sort1024_d{d}", lambda: torch.sort(table, dim=d, stable=True))
    h.run(f"topk1024_d{d}", lambda: torch.topk(table, 10, dim=d)[0])
near = 1 + million * 1e-3
h.run("cumsum1M", lambda: torch.cumsum(million, 0))
h.run("cumprod1M", lambda: torch.cumprod(near, 0))
h.run("logcumsumexp1M", lambda: torch.logcumsumexp(million, 0))
for d in range(2):
    h.run(f"cumsum1024_d{d}", lambda: torch.cumsum(table, d))

where, columns = tensor(labels(1 << 20, 1 << 20, 220)), tensor(labels(1 << 20, 1024, 221)).reshape(1024, 1024)
zeros = torch.zeros(1 << 20)
rows, chosen = tensor(uniform((100_000, 64), 222)), tensor(labels(1 << 14, 100_000, 223))
added, mask = tensor(uniform((1 << 14, 64), 224)), million > 0
h.run("gather1M", lambda: torch.gather(million, 0, where))
h.run("scatter_add1M", lambda: torch.scatter_add(zeros, 0, where, million))
for d in range(2):
    h.run(f"gather1024_d{d}", lambda: torch.gather(table, d, columns))
    h.run(f"scatter_add1024_d{d}", lambda: torch.scatter_add(table, d, columns, table))
h.run("index_select1M", lambda: torch.index_select(rows, 0, chosen))
h.run("index_add1M", lambda: torch.index_add(rows, 0, chosen, added))
h.run("masked_fill1M", lambda: torch.masked_fill(million, mask, 0.5))
h.run("where1M", lambda: torch.where(mask, million, near))

for equation, shapes in EINSUMS.items():
    operands = [tensor(uniform(shape, 230 + k)) for k, shape in enumerate(shapes)]
    h.run(f"einsum_{equation}", lambda: torch.einsum(equation, *operands))

block = tensor(uniform((256, 128, 64), 240, np.float32, 4.0))
close = 1 + 0.05 * block
reductions = dict(sum=torch.sum, max=torch.amax, mean=torch.mean, var=torch.var, argmax=torch.argmax, prod=torch.prod,
                  logsumexp=torch.logsumexp, norm=lambda x, d: torch.linalg.vector_norm(x, dim=d))
for name, reduce in reductions.items():
    for d in range(3):
        h.run(f"reduce_{name}_d{d}", lambda: reduce(close if name == "prod" else block, d))
batch, filters = tensor(uniform((8, 32, 56, 56), 210)), tensor(uniform((64, 32, 3, 3), 211, scale=0.1))


def square_sum(function):
    return lambda *args: function(*args).square().sum()


def with_gradient(name, function, *args):
    """A function, and its gradient by autograd, which is faster than torch.func for one example."""
    h.run(name, lambda: function(*args))
    leaves = [a.clone().requires_grad_() for a in args]
    h.run(f"{name}_grad", lambda: torch.autograd.grad(square_sum(function)(*leaves), leaves))


with_gradient("conv2d", lambda x, w: F.conv2d(x, w, padding=1), batch, filters)
with_gradient("layer_norm", lambda x, w, b: F.layer_norm(x, (1024,), w, b), tensor(uniform((512, 1024), 220, scale=2)),
              tensor(uniform((1024,), 221, scale=2)), tensor(uniform((1024,), 222, scale=2)))
heads = [tensor(uniform((2, 8, 512, 64), seed, scale=2)) for seed in (230, 231, 232)]
with_gradient("sdpa", F.scaled_dot_product_attention, *heads)
with_gradient("sdpa_causal", lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True), *heads)

members, shared = tensors(mlp([784, 128, 10], 120, batch=(32,))), tensor(uniform((64, 784), 130))
h.run("ensemble32", lambda: vmap(network, in_dims=(0, None))(members, shared))
trained, tx, ty = tensors(mlp([784, 512, 512, 10], 140)), tensor(uniform((128, 784), 150)), tensor(labels(128, 10, 151))


def train_step():
    gradient = grad(loss)(trained, tx, ty)
    return [(w - 0.1 * dw, b - 0.1 * db) for (w, b), (dw, db) in zip(trained, gradient)]


h.run("train_step_mlp", train_step)


def lotka(u):
    for _ in range(100):
        x, y = u[0], u[1]
        u = u + 0.01 * torch.stack([x * (1.1 - 0.4 * y), y * (0.1 * x - 0.4)])
    return u.sum()


start = torch.tensor([10.0, 5.0], dtype=torch.float64)
h.run("ode100_grad", lambda: grad(lotka)(start))
sys.stdout.flush()
