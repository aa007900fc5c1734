package burst.controller.scheduler

import burst.protocol.FlareId
import scala.collection.mutable

/** Where a queued flare stands: `position` 1 is next; `start` is when it will have its slots, if nothing
  * comes before it, or what it waits for whose end nobody knows.
  */
final case class QueueEstimate(position: Int, start: Either[WaitsFor, Long])

enum WaitsFor:
  /** Other flares on its group. */
  case Turn

  /** The machines that are up have fewer slots than it wants. */
  case Invokers

  /** They have enough, but groups hold them, or machines are too busy to take anything. */
  case Slots

/** Guesses when queued flares will start.
  *
  * Goes through the queue in its order and lends each flare its slots as soon as as many have come back as it
  * needs, those of running flares when they are expected ([[WalltimePredictor]]). Only numbers of slots are
  * looked at, not where they are, and nobody passes anybody: backfill and early ends make flares start
  * sooner, units that do not fit and flares of namespaces whose turn comes first later. Who came after it was
  * made stands behind all others in it.
  *
  * Example: 8 slots, all lent until 12:00:05; waiting are A for 6 slots, expected to take 10 s, and B for 4.
  * A starts at 12:00:05, B at 12:00:15, as A leaves only 2.
  */
final class Forecast(cluster: ClusterState, queue: FlareQueue, now: Long, walltimes: WalltimePredictor):
  private val found = mutable.HashMap.empty[FlareId, QueueEstimate]
  private val ends = mutable.PriorityQueue.empty[(Long, Int)](using
    Ordering.by[(Long, Int), Long](_._1).reverse
  )
  private val slots = cluster.view.totalSlots
  private var free = cluster.view.freeSlots
  private var moment = now
  private var position = 0

  /** The first number of those that are not in it. */
  private var next = queue.next

  cluster.holdings.valuesIterator.filterNot(_.walltime.openEnded).foreach { holding =>
    ends += ((holding.walltime.expectedAfter(now), cluster.usable(holding)))
  }
  queue.order.foreach(lend)

  /** Where a flare of the queue stands, which may have grown since. */
  def of(id: FlareId, queue: FlareQueue): Option[QueueEstimate] =
    if queue.next > next then
      queue.since(next).foreach(lend)
      next = queue.next
    found.get(id)

  private def lend(flare: Waiting): Unit =
    // one that is larger than what is up holds up nobody
    val possible = flare.size <= slots
    if possible then
      while free < flare.size && ends.nonEmpty do
        val (end, slots) = ends.dequeue()
        moment = moment.max(end)
        free += slots
    val starts =
      if !possible then Left(WaitsFor.Invokers)
      else if free < flare.size then Left(WaitsFor.Slots)
      else Right(moment)
    starts.foreach { start =>
      free -= flare.size
      if !flare.request.isGroup then ends += ((start + walltimes.expected(flare.request), flare.size))
    }
    position += 1
    found.update(flare.id, QueueEstimate(position, starts))

/** The forecast as it was lately, for all who ask: many ask often, and each would go through the whole queue.
  * A new one is made once the last is older than `lifetime`, and than many times what it took to make: the
  * more wait, the rarer it is, and the scheduler has its time for them. Who came since is told at once all
  * the same. `elapsed` is in microseconds.
  */
final class Forecasts(lifetime: Long, elapsed: () => Long, make: Long => Forecast):
  private var last = Option.empty[Forecasts.Made]

  /** Where a flare that waits stands. */
  def queueEstimate(id: FlareId, queue: FlareQueue): Option[QueueEstimate] =
    val now = elapsed()
    val current = last.filter(now < _.until).getOrElse(made(now))
    last = Some(current)
    current.forecast.of(id, queue)

  private def made(now: Long): Forecasts.Made =
    val forecast = make(now)
    val took = elapsed() - now
    Forecasts.Made(forecast, now + lifetime.max(took * Forecasts.Share))

object Forecasts:
  /** Of the scheduler's time, one part in so many is for forecasts at most. */
  private val Share = 20

  private final case class Made(forecast: Forecast, until: Long)
