"""The paper's equations 1 to 11, word for word: possible speedups from counts and times.

Gomes, Profiling Tools for Java, Universidade do Minho 2021, sections 2.1 and 3.3. Names are the paper's: `cc` clock cycles, `i`
instructions; first letter of the index the program (s sequential, p parallel), second one the fraction of it (s sequential, p
parallel), `ppm` the busiest thread. Exact for whole numbers (fractions); `speedup_model` is what headway computes with, and
returns the same where the paper's assumptions hold. Every function raises ZeroDivisionError for an empty denominator.
"""

from __future__ import annotations

from fractions import Fraction

Number = int | float | Fraction


def ratio(numerator: Number, denominator: Number) -> Number:
    """Return numerator / denominator: a fraction of whole numbers or fractions, a float as soon as one of both is."""
    return (Fraction(numerator) if isinstance(numerator, int) else numerator) / denominator


def speedup(execution_time_a: Number, execution_time_b: Number) -> Number:
    """Equation 1: the speedup of b over a."""
    return ratio(execution_time_a, execution_time_b)


def efficiency(achieved: Number, processing_elements: int) -> Number:
    """Equation 2: speedup over processing elements."""
    return ratio(achieved, processing_elements)


def parallel_fraction(cc_sp: Number, cc_s: Number) -> Number:
    """Equation 3, E_PF: the share of the sequential program's cycles that is to be made parallel."""
    return ratio(cc_sp, cc_s)


def sequential_instruction_overhead(i_ss: Number, i_ps: Number) -> Number:
    """Equation 4, E_SOI: instructions of the sequential fraction, sequential over parallel program."""
    return ratio(i_ss, i_ps)


def parallel_instruction_overhead(i_sp: Number, i_pp: Number) -> Number:
    """Equation 5, E_POI: the same of the parallel fraction, all threads."""
    return ratio(i_sp, i_pp)


def cpi(cc: Number, i: Number) -> Number:
    """Equation 6: cycles per instruction."""
    return ratio(cc, i)


def sequential_cpi_overhead(cpi_ss: Number, cpi_ps: Number) -> Number:
    """Equation 7, E_SOCPI."""
    return ratio(cpi_ss, cpi_ps)


def parallel_cpi_overhead(cpi_sp: Number, cpi_pp: Number) -> Number:
    """Equation 8, E_POCPI."""
    return ratio(cpi_sp, cpi_pp)


def load_balance(cc_pp: Number, cc_ppm: Number, threads: int) -> Number:
    """Equation 9, E_LB: mean cycles of a thread in the parallel fraction over those of the busiest thread."""
    return ratio(cc_pp, cc_ppm * threads)


def lock_contention(t_pplock: Number, t_ppexec: Number) -> Number:
    """Equation 10, E_LC: the share of the threads' time in the parallel fraction that is not spent waiting for locks."""
    return 1 - ratio(t_pplock, t_ppexec)


def possible_speedup(
    e_pf: Number,
    e_soi: Number,
    e_socpi: Number,
    e_poi: Number,
    e_pocpi: Number,
    e_lb: Number,
    e_lc: Number,
    threads: int,
) -> Number:
    """Equation 11: the computed speedup; with an efficiency set to 1, the possible speedup without that limit."""
    sequential = ratio(1 - e_pf, e_soi * e_socpi)
    return ratio(1, sequential + ratio(e_pf, e_poi * e_pocpi * e_lb * e_lc * threads))
