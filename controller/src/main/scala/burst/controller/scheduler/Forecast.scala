package burst.controller.scheduler

import burst.controller.definition.Packing
import burst.controller.flare.FlareRequest
import burst.protocol.FlareId
import scala.collection.mutable

/** Where a queued flare stands: `position` 1 is next; `start` is when it will have its slots, if nothing
  * comes before it, or what it waits for whose end nobody knows. `reason` says what there is and what it
  * needs, as a sentence without its full stop.
  */
final case class QueueEstimate(
    position: Int,
    start: Either[WaitsFor, Long],
    reason: Option[String] = None
)

enum WaitsFor:
  /** Other flares on its group. */
  case Turn

  /** The machines that are up have fewer slots than it wants, or none is large enough for its packs. */
  case Invokers

  /** They have enough, but groups hold them, or machines are too busy to take anything. */
  case Slots

/** Guesses when a queued flare will start. Pure.
  *
  * Goes through the queue in its order and lends each flare its slots as soon as as many have come back as it
  * needs, those of running flares when they are expected ([[WalltimePredictor]]). Only numbers of slots are
  * looked at, not where they are, and nobody passes anybody: backfill and early ends make flares start
  * sooner, units that do not fit and flares of namespaces whose turn comes first later.
  *
  * Example: 8 slots, all lent until 12:00:05; waiting are A for 6 slots, expected to take 10 s, and B for 4.
  * A starts at 12:00:05, B at 12:00:15, as A leaves only 2.
  */
object Forecast:
  def estimates(
      cluster: ClusterState,
      queue: FlareQueue,
      now: Long,
      walltimes: WalltimePredictor,
      couldHold: FlareRequest => Boolean = _ => true
  ): Map[FlareId, QueueEstimate] =
    val view = cluster.view
    val held = mutable.Map.empty[Needs, Boolean]
    // one that is larger than what is up holds up nobody
    def possible(request: FlareRequest) = request.size <= view.totalSlots &&
      (!view.hasNodes || held.getOrElseUpdate(Needs(request), couldHold(request)))
    val found = Map.newBuilder[FlareId, QueueEstimate]
    val ends = mutable.PriorityQueue.empty[(Long, Int)](using Ordering.by[(Long, Int), Long](_._1).reverse)
    cluster.holdings.valuesIterator.filterNot(_.walltime.openEnded).foreach { holding =>
      ends += ((holding.walltime.expectedAfter(now), cluster.usable(holding)))
    }
    val idle = view.freeSlots
    var free = idle
    var moment = now
    queue.order.zipWithIndex.foreach { (flare, index) =>
      val fits = possible(flare.request)
      if fits then
        while free < flare.size && ends.nonEmpty do
          val (end, slots) = ends.dequeue()
          moment = moment.max(end)
          free += slots
      val starts =
        if !fits then Left(WaitsFor.Invokers)
        else if free < flare.size then Left(WaitsFor.Slots)
        else Right(moment)
      starts.foreach { start =>
        free -= flare.size
        if !flare.request.isGroup then ends += ((start + walltimes.expected(flare.request), flare.size))
      }
      val reason = flare.why.fold("")(why => s"$why; ") + why(flare.request, fits, idle, view.totalSlots)
      found += flare.id -> QueueEstimate(index + 1, starts, Some(reason))
    }
    found.result()

  private def why(request: FlareRequest, fits: Boolean, free: Int, total: Int): String =
    val needs = s"the flare needs ${request.size}"
    if total < request.size then s"the cluster can give $total slots now, and $needs"
    else if !fits then
      s"the cluster can give $total slots now, but not on machines large enough: $needs of " +
        s"${request.memory} MiB${request.granularity.fold("")(g => s", in packs of $g")}"
    else s"$free of the cluster's $total slots are free, and $needs"

  /** What decides whether machines could hold a flare. */
  private final case class Needs(size: Int, granularity: Option[Int], memory: Int, packing: Packing)

  private object Needs:
    def apply(request: FlareRequest): Needs =
      Needs(request.size, request.granularity, request.memory, request.packing)

/** The forecast as it was lately, for all who ask: many ask often, and each would go through the whole queue.
  * A new one is made once the last is older than `lifetime`, or does not know a flare that may have come
  * since.
  */
final class Forecasts(lifetime: Long, make: Long => Map[FlareId, QueueEstimate]):
  private var last = Map.empty[FlareId, QueueEstimate]
  private var made = Option.empty[(Long, FlareQueue)]

  /** Where a flare that waits stands. */
  def queueEstimate(id: FlareId, queue: FlareQueue, now: Long): Option[QueueEstimate] =
    val stale = made.forall((at, of) => now - at >= lifetime || !last.contains(id) && (of ne queue))
    if stale then
      last = make(now)
      made = Some((now, queue))
    last.get(id)
