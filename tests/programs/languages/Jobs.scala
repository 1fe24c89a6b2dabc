package demo

object Jobs {
  @volatile var sink = 0.0

  def grind(seed: Int): Double = {
    var x = seed.toDouble
    var i = 0
    while (i < 200000) { x = x * 1.0000001 + 1e-9; i += 1 } // busy
    x
  }

  def later(task: () => Double): Double = task()

  def main(args: Array[String]): Unit = {
    for (round <- 0 until args(0).toInt) {
      sink += (1 to 10).map { number =>
        grind(number) // in-closure
      }.sum
      sink += later { () =>
        grind(round) // in-lambda
      }
    }
  }
}
