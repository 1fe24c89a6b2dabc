"""Equations 1 to 11 of Gomes (2021), word for word: efficiencies and possible speedups from counts and times.

Gomes, Profiling Tools for Java, Universidade do Minho 2021, sections 2.1 and 3.3. Names are the paper's: `cc` clock cycles, `i`
instructions; first letter of the index the program (s sequential, p parallel), second one the fraction of it (s sequential, p
parallel), `ppm` the busiest thread. Exact for whole numbers (fractions); `speedup_model` is what headway computes with, and
returns the same where the paper's assumptions hold. Every function raises ZeroDivisionError for an empty denominator.
"""

from __future__ import annotations

from fractions import Fraction

Number = int | float | Fraction


def ratio(numerator: Number, denominator: Number) -> Number:
    """Return numerator / denominator: a fraction for whole numbers or fractions, a float as soon as one of them is."""
    return (Fraction(numerator) if isinstance(numerator, int) else numerator) / denominator


def speedup(execution_time_a: Number, execution_time_b: Number) -> Number:
    """Return the speedup of b over a (equation 1)."""
    return ratio(execution_time_a, execution_time_b)


def efficiency(achieved: Number, processing_elements: int) -> Number:
    """Return speedup over processing elements (equation 2)."""
    return ratio(achieved, processing_elements)


def parallel_fraction(cc_sp: Number, cc_s: Number) -> Number:
    """Return E_PF, the share of the sequential program's cycles that is to be made parallel (equation 3)."""
    return ratio(cc_sp, cc_s)


def sequential_instruction_overhead(i_ss: Number, i_ps: Number) -> Number:
    """Return E_SOI: instructions of the sequential fraction, sequential over parallel program (equation 4)."""
    return ratio(i_ss, i_ps)


def parallel_instruction_overhead(i_sp: Number, i_pp: Number) -> Number:
    """Return E_POI: instructions of the parallel fraction, sequential over parallel program, all threads (equation 5)."""
    return ratio(i_sp, i_pp)


def cpi(cc: Number, i: Number) -> Number:
    """Return cycles per instruction (equation 6)."""
    return ratio(cc, i)


def sequential_cpi_overhead(cpi_ss: Number, cpi_ps: Number) -> Number:
    """Return E_SOCPI: cycles per instruction of the sequential fraction, sequential over parallel program (equation 7)."""
    return ratio(cpi_ss, cpi_ps)


def parallel_cpi_overhead(cpi_sp: Number, cpi_pp: Number) -> Number:
    """Return E_POCPI: cycles per instruction of the parallel fraction, sequential over parallel program (equation 8)."""
    return ratio(cpi_sp, cpi_pp)


def load_balance(cc_pp: Number, cc_ppm: Number, threads: int) -> Number:
    """Return E_LB: mean cycles of a thread in the parallel fraction over those of the busiest thread (equation 9)."""
    return ratio(cc_pp, cc_ppm * threads)


def lock_contention(t_pplock: Number, t_ppexec: Number) -> Number:
    """Return E_LC: the share of the threads' time in the parallel fraction not spent waiting for locks (equation 10)."""
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
    """Return the computed speedup; with an efficiency set to 1, the possible speedup without that limit (equation 11)."""
    sequential = ratio(1 - e_pf, e_soi * e_socpi)
    return ratio(1, sequential + ratio(e_pf, e_poi * e_pocpi * e_lb * e_lc * threads))
