package burst.simulator

import java.nio.file.Path

/** `make simulate`: the scheduler on a simulated cluster. Takes the directory of the benchmarks' results,
  * reads `platform.csv` from it, and writes into `simulator` below it.
  *
  * `make growth`: the cost of many invokers and queued flares, with `growth` and the maximum of both, and of
  * real sessions, with `sessions` and the program `burst`.
  */
object Main:
  private val Seed = 1L
  private val Flares = 1000
  private val Load = 0.8

  def main(arguments: Array[String]): Unit =
    System.setProperty("java.awt.headless", "true")
    val directory = Path.of(arguments.headOption.getOrElse("benchmarks/results"))
    val results = Results(directory.resolve("simulator"))
    arguments.drop(1) match
      case Array() => play(directory, results)
      case Array("growth", invokers, queued) => Growth(results, invokers.toInt, queued.toInt).measure()
      case Array("sessions", burst) => Sessions(results, Path.of(burst).toAbsolutePath).measure()
      case _ =>
        throw IllegalArgumentException("give a directory, and growth INVOKERS QUEUED, or sessions BURST")

  private def play(directory: Path, results: Results): Unit =
    val experiments = Experiments(results, StartTimes.read(directory.resolve("platform.csv")), Seed)
    experiments.placement()
    experiments.startUp()
    experiments.policies(Flares, Load)
    Overhead(results).measure()
