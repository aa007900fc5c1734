package burst.simulator

import java.nio.file.Path

/** `make simulate`: the scheduler on a cluster that is not there. Takes the directory of the benchmarks'
  * results, reads `platform.csv` from it, and writes into `simulator` below it.
  */
object Main:
  private val Seed = 1L
  private val Flares = 1000
  private val Load = 0.8

  def main(arguments: Array[String]): Unit =
    System.setProperty("java.awt.headless", "true")
    val directory = Path.of(arguments.headOption.getOrElse("benchmarks/results"))
    val results = Results(directory.resolve("simulator"))
    val experiments = Experiments(results, StartTimes.read(directory.resolve("platform.csv")), Seed)
    experiments.placement()
    experiments.startUp()
    experiments.policies(Flares, Load)
    Overhead(results).measure()
