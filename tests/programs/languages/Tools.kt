package demo

@Volatile var sink = 0.0

inline fun tally(times: Int, body: (Int) -> Double): Double {
    var sum = 0.0
    for (i in 0 until times) {
        sum += body(i) // in-inlined
    }
    return sum
}

@Suppress("NOTHING_TO_INLINE")
inline fun grind(seed: Int): Double {
    var x = seed.toDouble()
    for (i in 0 until 200_000) { x = x * 1.0000001 + 1e-9 } // busy-inlined
    return x
}
