"""Functions that are defined by an equation: the solution may come from anywhere, and is differentiated through the equation.

==================================== =================================
you have                             use
==================================== =================================
``f(p, x) = 0``                      `root`
``x = f(p, x)``                      `fixed_point`
a linear ``matvec(p, x) = b``        `linear_solve`
==================================== =================================

No step of a solver is differentiated, so it may read data, loop and call what it likes: SciPy, for example. A derivative costs one
linear system, whatever the number of steps, and is exact at the solution.
"""

from ._core import func as _func

LinearSolution = _func.implicit.LinearSolution
LinearSolver = _func.implicit.LinearSolver
Solution = _func.implicit.Solution
fixed_point = _func.implicit.fixed_point
linear_solve = _func.implicit.linear_solve
root = _func.implicit.root

__all__ = ["LinearSolution", "LinearSolver", "Solution", "fixed_point", "linear_solve", "root"]
