package demo

class Batch(private val size: Int) {
    fun run(): Double = tally(size) { number ->
        grind(number) // in-inline-lambda
    }

    inline fun twice(body: () -> Unit) {
        body() // in-own-inlined
        body()
    }

    fun both() = twice { sink += 1.0 }

    fun listed(items: DoubleArray): Double {
        return items.sumOf { it * 1.5 } // in-stdlib
    }
}

fun later(task: () -> Double): Double = task()

fun main(args: Array<String>) {
    val batch = Batch(10)
    val items = DoubleArray(500_000) { it.toDouble() }
    for (round in 0 until args[0].toInt()) {
        sink += batch.run()
        batch.both()
        sink += batch.listed(items)
        sink += later {
            grind(round) // in-lambda
        }
    }
}
