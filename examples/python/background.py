"""The temperature of the universe, from the spectrum of its background radiation.

A notebook in the form of a script: editors that know `# %%` run it cell by cell. It fits Planck's law to the data of COBE/FIRAS,
with an operation of its own, and finds the error of the temperature in two ways: by a Hessian, and by fitting a thousand spectra
with other noise at once.

    pip install matplotlib scipy
    python examples/python/background.py
"""

# %% The data
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import minimize

import pullback as pb
from pullback.func import grad_and_value, hessian, jacfwd, vmap

ROOT = Path(__file__).resolve().parents[2]
wavenumber, measured, deviation = np.loadtxt(ROOT / "examples/data/firas.txt", unpack=True)
deviation = deviation / 1000  # all in MJy/sr
nu = pb.from_numpy(wavenumber)
spectrum, sigma = pb.from_numpy(measured), pb.from_numpy(deviation)


# %% An operation of our own
class Occupation(pb.autograd.Function):
    """How many photons a state holds that costs u times the thermal energy, n = 1/(exp u - 1): in NumPy, with `expm1`."""

    @staticmethod
    def forward(u):
        return pb.from_numpy(1 / np.expm1(u.numpy()))

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(output)

    @staticmethod
    def backward(ctx, g):
        # Made of operations, so that it can be differentiated again, and turned into a rule for forward mode.
        (n,) = ctx.saved_tensors
        return -g * n * (1 + n)

    @staticmethod
    def vmap(info, in_dims, u):
        # NumPy's functions work on each element, so lanes may stay where they are.
        return Occupation.apply(u), in_dims[0]


# %% The model: Planck's law, with a chemical potential that vanishes if nothing disturbed the radiation
PLANCK, LIGHT, BOLTZMANN = 6.62607015e-34, 299792458.0, 1.380649e-23
KELVIN = PLANCK * LIGHT * 100 / BOLTZMANN  # temperature of one wave per centimetre
MEGAJANSKY = 2 * PLANCK * LIGHT * 1e6 / 1e-20  # 2 h c k³ in MJy/sr


def intensity(params, nu):
    temperature, mu = params[0], params[1]
    return MEGAJANSKY * nu**3 * Occupation.apply(KELVIN * nu / temperature + mu)


def chi2(params, spectrum):
    return (((spectrum - intensity(params, nu)) / sigma) ** 2).sum()


# %% The fit, with exact first and second derivatives
def of_numpy(f):
    return lambda x: f(pb.tensor(x, dtype=pb.float64), spectrum)


def value_and_gradient(x):
    gradient, value = grad_and_value(chi2)(pb.tensor(x, dtype=pb.float64), spectrum)
    return value.item(), gradient.numpy()


curvature = of_numpy(hessian(chi2))
fit = minimize(value_and_gradient, [3.0, 0.0], jac=True, hess=lambda x: curvature(x).numpy(), method="trust-exact")
best = pb.tensor(fit.x, dtype=pb.float64)
# Half the Hessian of chi² is the inverse of the covariance.
covariance = np.linalg.inv(hessian(chi2)(best, spectrum).numpy() / 2)
errors = np.sqrt(np.diag(covariance))
print(f"temperature {fit.x[0]:.5f} ± {errors[0]:.5f} K, chemical potential ({fit.x[1] * 1e6:.0f} ± {errors[1] * 1e6:.0f})e-6")
print(f"chi² {fit.fun:.1f} for {len(wavenumber) - 2} degrees of freedom, after {fit.nit} steps")
assert abs(fit.x[0] - 2.725) < 1e-3 and fit.fun < 2 * len(wavenumber)


# %% The same error from a thousand spectra with other noise, all fitted at once
def refit(noise):
    """Two Gauss-Newton steps for one spectrum."""
    params, noisy = best, intensity(best, nu) + noise * sigma
    for _ in range(2):
        slopes = jacfwd(lambda p: intensity(p, nu) / sigma)(params)
        residual = (noisy - intensity(params, nu)) / sigma
        params = params + pb.linalg.solve(slopes.T @ slopes, slopes.T @ residual)
    return params


noise = np.random.default_rng(0).standard_normal((1000, len(wavenumber)))
fits = vmap(refit)(pb.from_numpy(noise)).numpy()
print(f"spread of {len(fits)} fits: {fits[:, 0].std():.5f} K")
assert abs(fits[:, 0].std() / errors[0] - 1) < 0.1

# %% Pictures
figure, (top, bottom, side) = plt.subplots(3, 1, figsize=(7, 9), layout="constrained")
fine = np.linspace(0.5, 22, 300)
top.plot(fine, intensity(best, pb.from_numpy(fine)).numpy(), color="tab:blue", label=f"Planck's law at {fit.x[0]:.4f} K")
top.errorbar(wavenumber, measured, 200 * deviation, fmt=".", color="tab:red", label="FIRAS, errors 200 times larger")
top.set(xlabel="wavenumber in 1/cm", ylabel="MJy/sr")
top.legend()
bottom.errorbar(wavenumber, 1000 * (measured - intensity(best, nu).numpy()), 1000 * deviation, fmt=".", color="tab:red")
bottom.axhline(0, color="tab:blue")
bottom.set(xlabel="wavenumber in 1/cm", ylabel="residual in kJy/sr", ylim=(-150, 150))
side.hist(1e6 * (fits[:, 0] - fit.x[0]), bins=40, density=True, color="lightgray", label="fits of spectra with other noise")
x = np.linspace(-4, 4, 200)
side.plot(1e6 * x * errors[0], np.exp(-(x**2) / 2) / np.sqrt(2 * np.pi) / (1e6 * errors[0]), label="from the Hessian")
side.set(xlabel="temperature in µK from the best fit", yticks=[])
side.legend()
target = ROOT / "target"
target.mkdir(exist_ok=True)
figure.savefig(target / "background.png", dpi=150)
print(f"wrote {target / 'background.png'}")
