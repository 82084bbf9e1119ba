"""What holds for the package as a whole: import, threads, signals."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest

import pullback as pb
from pullback import autograd
from pullback.func import grad, vmap


def run(program, **options):
    program = textwrap.dedent(program)
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, **options)


@pytest.mark.skipif(not pb._core._is_optimized, reason="it says nothing of a debug build")
def test_import_takes_less_than_50_ms_and_does_not_need_numpy():
    program = """
        import sys, time
        start = time.perf_counter()
        import pullback
        took = time.perf_counter() - start
        print(took, "numpy" in sys.modules)
    """
    runs = [run(program).stdout.split() for _ in range(7)]
    assert {numpy for _, numpy in runs} == {"False"}
    assert min(float(took) for took, _ in runs) < 0.05


def test_the_package_is_typed():
    folder = os.path.dirname(pb.__file__)
    assert os.path.exists(os.path.join(folder, "py.typed"))


def test_typed_programs_run():
    subprocess.run([sys.executable, os.path.join(os.path.dirname(__file__), "typed.py")], check=True, timeout=120)


@pytest.mark.parametrize(
    "body",
    [
        "while True: grad(lambda x: x * x)(x)",
        "grad(forever)(x)",
        "vmap(grad(forever))(pb.ones(3))",
        "(x * x).register_hook(forever) if False else hooked()",
    ],
)
@pytest.mark.skipif(os.name == "nt", reason="signals are sent as on Unix")
def test_ctrl_c_interrupts(body):
    program = f"""
        import pullback as pb
        from pullback.func import grad, vmap

        x = pb.tensor(2.0)

        def forever(x):
            print("running", flush=True)
            while True:
                x = x * 1.0

        def hooked():
            y = pb.tensor(2.0, requires_grad=True)
            y.register_hook(forever)
            (y * y).backward()

        try:
            print("running", flush=True)
            {body}
        except KeyboardInterrupt:
            # The interpreter and the library still work.
            assert grad(lambda x: x * x)(x).item() == 4.0
            print("interrupted")
    """
    process = subprocess.Popen([sys.executable, "-c", textwrap.dedent(program)], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout.readline() == "running\n"
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=30)
    finally:
        process.kill()
    assert process.returncode == 0 and out.endswith("interrupted\n")


class Cube(autograd.Function):
    """With rules that call NumPy, so that they run Python code under every transform."""

    generate_vmap_rule = False

    @staticmethod
    def forward(x):
        return pb.from_numpy(x.numpy() ** 3)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * 3 * x * x

    @staticmethod
    def vmap(info, in_dims, x):
        return Cube.apply(x), in_dims[0]


def in_threads(work, count=6):
    errors = []

    def guarded(k):
        try:
            work(k)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=guarded, args=(k,)) for k in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=120)
    assert not any(thread.is_alive() for thread in threads), "a deadlock"
    if errors:
        raise errors[0]


def test_transforms_and_functions_are_right_in_several_threads():
    def work(k):
        for _ in range(20):
            x = pb.tensor([1.0 + k, 2.0, 3.0], dtype=pb.float64)
            want = x.numpy()
            np.testing.assert_allclose(grad(lambda x: Cube.apply(x).sum())(x).numpy(), 3 * want**2)
            np.testing.assert_allclose(vmap(grad(Cube.apply))(x).numpy(), 3 * want**2)
            np.testing.assert_allclose(vmap(grad(grad(Cube.apply)))(x).numpy(), 6 * want)
            leaf = x.detach().requires_grad_()
            Cube.apply(leaf).sum().backward()
            np.testing.assert_allclose(leaf.grad.numpy(), 3 * want**2)

    in_threads(work)


def test_c176_a_rule_in_python_and_worker_threads_do_not_deadlock():
    lanes = pb.ones(1000, dtype=pb.float64)

    def work(_):
        for _ in range(25):
            found = vmap(grad(Cube.apply))(lanes)
            assert found.sum().item() == 3000.0

    in_threads(work, count=8)
    in_threads(work, count=1)


def test_c175_exceptions_of_rules_come_out_of_threads_unchanged():
    boom = KeyError("boom")

    class Broken(autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            raise boom

    def work(_):
        x = pb.tensor(1.0, requires_grad=True)
        with pytest.raises(KeyError) as caught:
            Broken.apply(x).backward()
        assert caught.value is boom

    in_threads(work)


@pytest.mark.parametrize("work", ["product", "backward"])
def test_large_kernels_let_another_thread_run(work):
    n = 700
    a, ones = pb.ones((n, n)), pb.ones((n, n))
    leaf = a.clone().requires_grad_()
    y = leaf @ leaf
    done, steps = threading.Event(), []

    def compute():
        for _ in range(5):
            a @ a if work == "product" else y.backward(ones)
        done.set()

    thread = threading.Thread(target=compute)
    thread.start()
    while not done.is_set():
        steps.append(time.perf_counter())
        time.sleep(0)
    thread.join()
    # A thread that cannot run sees a long gap for each product instead of many steps.
    assert len(steps) > 20 and np.median(np.diff(steps)) < 0.01
