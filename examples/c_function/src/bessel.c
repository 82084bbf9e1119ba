/* The modified Bessel functions of the first kind, for arrays.
 *
 * What the Rust side relies on: no state, so any thread may call at any time; nothing unwinds or jumps out; pointers are
 * not kept; exactly `count` elements of `out` are written if the result is 0, none otherwise. */

#include <math.h>
#include <stddef.h>

/* The series sum_k (x/2)^(2k+n) / (k! (k+n)!). All its terms have one sign, so nothing cancels, however large x is. Terms
 * grow up to about k = |x|/2 and then fall ever faster, so the first negligible one ends the sum. */
static double bessel(int n, double x)
{
    double half = 0.5 * x, square = half * half, term = 1.0, sum;
    int k;

    for (k = 1; k <= n; k++)
        term *= half / k;
    sum = term;
    for (k = 1; term != 0.0 && fabs(term) > 1e-17 * fabs(sum) && isfinite(sum); k++) {
        term *= square / ((double)k * ((double)k + n));
        sum += term;
    }
    return sum;
}

/* out[i] = I_order(x[i]). Returns 0, or 1 for an order that is not between 0 and 1000. */
int bessel_i_f64(int order, const double *x, double *out, size_t count)
{
    size_t i;

    if (order < 0 || order > 1000)
        return 1;
    for (i = 0; i < count; i++)
        out[i] = bessel(order, x[i]);
    return 0;
}

/* The same for single precision, computed in double precision and rounded once. */
int bessel_i_f32(int order, const float *x, float *out, size_t count)
{
    size_t i;

    if (order < 0 || order > 1000)
        return 1;
    for (i = 0; i < count; i++)
        out[i] = (float)bessel(order, (double)x[i]);
    return 0;
}
