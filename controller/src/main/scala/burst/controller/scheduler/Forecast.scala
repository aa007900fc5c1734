package burst.controller.scheduler

import burst.controller.flare.FlareRequest
import burst.controller.placement.Packing
import burst.node.MonotonicTime
import burst.protocol.FlareId
import scala.collection.mutable
import scala.concurrent.duration.FiniteDuration

/** A queued flare's place: `position` 1 is next; `start` is when it will have its slots, if nothing comes
  * before it, or what it waits for whose end is unknown. `reason` states what is available and what the flare
  * needs, as a sentence without its full stop.
  */
final case class QueueEstimate[+Time](
    position: Int,
    start: Either[WaitsFor, Time],
    reason: Option[String] = None
)

enum WaitsFor:
  /** Other flares on its group. */
  case Turn

  /** The machines that are up have fewer slots than it wants, or none is large enough for its packs. */
  case Invokers

  /** The machines have enough slots, but groups hold them, or machines are too busy to accept anything. */
  case Slots

/** Estimates when queued flares will start.
  *
  * Goes through the queue in its order and lends each flare its slots as soon as enough have come back, those
  * of running flares at their expected ends ([[WalltimePredictor]]). It counts slots without regard to where
  * they are, and no flare passes another: backfill and early ends make flares start sooner; units that do not
  * fit, and flares of namespaces whose turn comes first, make them start later. Flares that arrived after the
  * forecast was made are behind all others in it.
  *
  * Example: 8 slots, all lent until 12:00:05; waiting are A for 6 slots, expected to take 10 s, and B for 4.
  * A starts at 12:00:05, B at 12:00:15, as A leaves only 2.
  */
final class Forecast(
    cluster: ClusterState,
    queue: FlareQueue,
    now: MonotonicTime,
    walltimes: WalltimePredictor,
    couldHold: FlareRequest => Boolean = _ => true
):
  import Forecast.{MostLooks, Needs, QueueStanding}

  private val held = mutable.Map.empty[Needs, Boolean]
  private val found = mutable.HashMap.empty[FlareId, QueueStanding]
  private val ends = mutable.PriorityQueue.empty[(MonotonicTime, Int)](using
    Ordering.by[(MonotonicTime, Int), MonotonicTime](_._1).reverse
  )
  private val view = cluster.view
  private val slots = view.totalSlots
  private val idle = view.freeSlots
  private var free = idle
  private var moment = now
  private var position = 0

  /** The first queue number that the forecast does not include. */
  private var next = queue.next

  cluster.holdings.valuesIterator.filterNot(_.walltime.openEnded).foreach { holding =>
    ends += ((holding.walltime.expectedAfter(now), cluster.usable(holding)))
  }
  queue.order.foreach(lend)

  /** The estimate for a flare of the queue, which may have grown since. */
  def of(id: FlareId, queue: FlareQueue): Option[QueueEstimate[MonotonicTime]] =
    if queue.next > next then
      queue.since(next).foreach(lend)
      next = queue.next
    found.get(id).map: it =>
      val reason =
        it.flare.noRoom.fold("")(failure => s"${failure.message}; ") + why(it.flare.request, it.fits)
      QueueEstimate(it.position, it.start, Some(reason))

  private def lend(flare: Waiting): Unit =
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
      if !flare.request.isGroup then ends += ((walltimes.expectedEnd(flare.request, start), flare.size))
    }
    position += 1
    found.update(flare.id, QueueStanding(flare, position, starts, fits))

  /** Whether the flare fits the machines that are up; one that does not, or has packs that do not, holds up
    * no other.
    */
  private def possible(request: FlareRequest) = request.size <= slots &&
    held.getOrElse(Needs(request), held.size >= MostLooks || looked(request))

  private def looked(request: FlareRequest): Boolean =
    val fits = couldHold(request)
    held.update(Needs(request), fits)
    fits

  private def why(request: FlareRequest, fits: Boolean): String =
    val needs = s"the flare needs ${request.size}"
    if slots < request.size then s"the cluster can give $slots slots now, and $needs"
    else if !fits then
      s"the cluster can give $slots slots now, but not on machines large enough: $needs of " +
        s"${request.memory} MiB${request.granularity.fold("")(g => s", in packs of $g")}"
    else s"$idle of the cluster's $slots slots are free, and $needs"

object Forecast:
  /** The number of kinds of flares for which all machines are examined. The others are assumed to fit. */
  private val MostLooks = 64

  private final case class QueueStanding(
      flare: Waiting,
      position: Int,
      start: Either[WaitsFor, MonotonicTime],
      fits: Boolean
  )

  /** The properties that decide whether machines could hold a flare. */
  private final case class Needs(size: Int, granularity: Option[Int], memory: Int, packing: Packing)

  private object Needs:
    def apply(request: FlareRequest): Needs =
      Needs(request.size, request.granularity, request.memory, request.packing)

/** The last forecast, shared by all callers: many ask often, and each would otherwise go through the whole
  * queue. A new one is made once the last is older than `lifetime`, and than many times what it took to make:
  * the more flares wait, the rarer it is, so that the scheduler has time for them. Flares that arrived since
  * are still answered immediately.
  */
final class Forecasts(
    lifetime: FiniteDuration,
    elapsed: () => MonotonicTime,
    make: MonotonicTime => Forecast
):
  private var last = Option.empty[Forecasts.Made]

  /** The estimate for a waiting flare. */
  def queueEstimate(id: FlareId, queue: FlareQueue): Option[QueueEstimate[MonotonicTime]] =
    val now = elapsed()
    val current = last.filter(now < _.until).getOrElse(made(now))
    last = Some(current)
    current.forecast.of(id, queue)

  private def made(now: MonotonicTime): Forecasts.Made =
    val forecast = make(now)
    val took = elapsed() - now
    Forecasts.Made(forecast, now + lifetime.max(took * Forecasts.Share))

object Forecasts:
  /** Forecasts take at most one part in this many of the scheduler's time. */
  private val Share = 20

  private final case class Made(forecast: Forecast, until: MonotonicTime)
