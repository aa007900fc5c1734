package burst.simulator

import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Files, Path}
import org.apache.commons.csv.CSVFormat
import scala.concurrent.duration.{DurationLong, FiniteDuration}
import scala.jdk.CollectionConverters.*
import scala.util.{Random, Using}

/** A row of `platform.csv`, in milliseconds. */
final case class Row(min: Double, median: Double, max: Double, reference: Option[Double])

/** Durations as summarised by a benchmark, in microseconds; drawn from the triangular distribution over their
  * least, median and greatest value.
  */
final case class Spread(min: Double, mode: Double, max: Double):
  def draw(random: Random): FiniteDuration =
    val u = random.nextDouble()
    val width = max - min
    if width <= 0 then mode.toLong.micros
    else
      val turn = (mode - min) / width
      val drawn =
        if u < turn then min + math.sqrt(u * width * (mode - min))
        else max - math.sqrt((1 - u) * width * (max - mode))
      drawn.toLong.micros

  def times(factor: Double): Spread =
    Spread(min = min * factor, mode = mode * factor, max = max * factor)

/** The cost of starting packs, as `make bench` measured it with docker (`benchmarks/results/platform.csv`):
  *   - `container`: one container on an idle machine, request to workers running (the row of the cold flare);
  *   - `further`: what each further container of the same machine adds, since a machine practically starts
  *     them one after another: the time of 48 of them beyond that of one, divided by 47, with the variation
  *     of one;
  *   - `worker`: what each further worker of a pack adds.
  */
final case class StartTimes(container: Spread, further: Spread, worker: Double)

object StartTimes:
  /** Reads the measured rows. Throws if one is missing: no value is made up. */
  def read(platform: Path): StartTimes =
    val rows = Using.resource(Files.newBufferedReader(platform, UTF_8)) { reader =>
      CSVFormat.DEFAULT.builder.setHeader().setSkipHeaderRecord(true).get.parse(reader).asScala.map {
        record =>
          def number(column: String) = record.get(column).toDoubleOption
          record.get("what") -> Row(
            min = number("min").getOrElse(0),
            median = number("median").getOrElse(0),
            max = number("max").getOrElse(0),
            reference = number("reference_median")
          )
      }.toMap
    }
    def row(what: String) = rows.getOrElse(
      what,
      throw IllegalArgumentException(s"$platform has no row '$what': run `make bench`")
    )
    val one = row("cold flare of 8 workers in one docker pack, request to all running")
    val many = row("request to all 48 running, docker, cold, g=48")
    val separate = many.reference.getOrElse(
      throw IllegalArgumentException(
        s"$platform does not say how long 48 packs of one take: run `make bench`"
      )
    )
    val container = Spread(min = one.min * 1000, mode = one.median * 1000, max = one.max * 1000)
    StartTimes(
      container,
      container.times((separate - many.median) / 47 / one.median),
      row("spread of the 48 starts, docker, cold, g=48").median * 1000 / 47
    )
