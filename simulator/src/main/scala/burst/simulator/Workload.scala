package burst.simulator

import burst.controller.definition.FlareTerms
import burst.controller.flare.FlareRequest
import burst.controller.placement.Packing
import burst.node.MonotonicTime
import burst.protocol.{DefinitionRef, Inputs, PackageId}
import scala.concurrent.duration.{DurationInt, DurationLong, FiniteDuration}
import scala.util.Random

/** A future flare: it arrives at `at`, and its workers run for `work` once they have begun. */
final case class Arrival(at: MonotonicTime, request: FlareRequest, work: FiniteDuration)

/** How flares are placed: by one of the policies, or as by a plain queue of functions. */
final case class Discipline(
    name: String,
    packing: Packing,
    granularity: Option[Int],
    backfill: Boolean
)

object Discipline:
  /** Every policy, and with a given granularity those that respect it. */
  val All: Vector[Discipline] =
    val policies = Packing.named.toVector.flatMap: (name, packing) =>
      val inEights = Option.when(packing != Packing.Heterogeneous):
        Discipline(s"$name, g=8", packing, Some(8), backfill = true)
      Discipline(name, packing, None, backfill = true) +: inEights.toVector
    policies :+ Discipline("FIFO, g=1", Packing.Homogeneous, Some(1), backfill = false)

object Workload:
  private[simulator] val packageBytes = Array[Byte](1)
  private val packageId = PackageId.of(packageBytes)
  private val second = 1_000_000L

  def definition(name: String, namespace: String = "sim"): DefinitionRef =
    DefinitionRef(namespace, name, "0.0.1", packageId)

  /** A flare without special options. */
  def request(
      size: Int,
      packing: Packing,
      granularity: Option[Int],
      name: String,
      timeout: FiniteDuration = 2.minutes,
      namespace: String = "sim"
  ) =
    FlareRequest(
      definition(name, namespace),
      size,
      Inputs.Hidden,
      FlareTerms(
        granularity,
        packing,
        backend = "direct",
        timeout = timeout,
        memory = 256,
        retries = 0
      )
    )

  /** Bursts as described in the literature: sudden, of sizes over five orders of magnitude (uniform in their
    * logarithm), seconds to a minute long, most of them similar to others of their definition. `load` is the
    * part of the cluster's slots that they ask for on average.
    */
  def bursts(
      count: Int,
      slots: Int,
      load: Double,
      largest: Int,
      discipline: Discipline,
      random: Random
  ): Vector[Arrival] =
    val definitions = Vector.fill(40)((2 + 40 * math.pow(random.nextDouble(), 3)) * second)
    val drawn = Vector.fill(count) {
      val size = math.exp(random.nextDouble() * math.log(largest.toDouble)).round.toInt.max(1)
      val kind = random.nextInt(definitions.length)
      (size, kind, (definitions(kind) * (0.7 + 0.3 * random.nextDouble())).toLong)
    }
    val totalWork = drawn.iterator.map((size, _, work) => size.toDouble * work).sum
    val span = totalWork / (slots * load)
    val moments = Vector.fill(count)((random.nextDouble() * span).toLong).sorted
    moments.zip(drawn).map { case (at, (size, kind, work)) =>
      Arrival(
        MonotonicTime.ofMicros(at),
        request(size, discipline.packing, discipline.granularity, s"definition$kind"),
        work.micros
      )
    }
