package burst.controller.scheduler

import burst.controller.flare.Flare
import burst.node.logs.LogIds.of
import burst.protocol.FlareId
import org.apache.pekko.actor.typed.scaladsl.{ActorContext, TimerScheduler}
import scala.concurrent.Future
import scala.concurrent.duration.{DurationInt, FiniteDuration}
import scala.util.{Failure, Success}

/** Flares whose insert failed, and may have arrived nevertheless: a connection may break after the commit.
  * Their submitters were told that they are not stored, and no actor has them. They are looked for until the
  * database has said, after all that it may still have been at, that they are not there. One that is there is
  * taken up where its submitter has a key, and finds it with that; else nobody knows of it, and it is
  * cancelled before it runs (docs/adr/0098). Belongs to the scheduler's actor.
  */
private[scheduler] final class UnclearInserts(
    environment: FlareEnvironment,
    context: ActorContext[GangScheduler.Command],
    timers: TimerScheduler[GangScheduler.Command]
):
  import GangScheduler.{FoundUnclear, LookForUnclear}
  import UnclearInserts.*

  private var unclear = Map.empty[FlareId, Unclear]

  def add(id: FlareId, hasKey: Boolean): Unit =
    if unclear.size < Most || unclear.contains(id) then
      unclear = unclear.updated(id, Unclear(hasKey, environment.clock.elapsed()))
      lookSoon()
    else context.log.atWarn().of(id).log("not looked for in the store: too many flares may be there")

  /** Asks the store for those that nobody will submit again by now. */
  def look(): Unit =
    val now = environment.clock.elapsed()
    val due =
      unclear.collect { case (id, one) if now - one.since >= SubmittedAgainWithin.toMicros => id }.toVector
    if due.isEmpty then lookSoon()
    else
      val found = Future(environment.store.unfinished(due))(using environment.blocking)
      context.pipeToSelf(found):
        case Success(flares) => FoundUnclear(due, flares, now)
        case Failure(cause) =>
          context.log.debug("flares that may be stored cannot be looked for; trying again", cause)
          FoundUnclear(Vector.empty, Vector.empty, now)

  /** Which of those that were asked for at a time, and that nobody has submitted again, are to be taken up,
    * and whether their submitters have a key.
    */
  def found(asked: Vector[FlareId], flares: Vector[Flare], at: Long)(
      isThere: FlareId => Boolean
  ): Vector[(Flare, Boolean)] =
    unclear = unclear.filterNot((id, _) => isThere(id))
    val taken = flares.flatMap(flare => unclear.get(flare.id).map(one => flare -> one.hasKey))
    val settled = asked.filter(id => unclear.get(id).exists(one => at - one.since >= ArrivedWithin.toMicros))
    unclear = unclear -- taken.map(_._1.id) -- settled
    lookSoon()
    taken

  private def lookSoon(): Unit =
    if unclear.nonEmpty && !timers.isTimerActive(LookForUnclear) then
      timers.startSingleTimer(LookForUnclear, LookForUnclear, Pause)

private object UnclearInserts:
  private final case class Unclear(hasKey: Boolean, since: Long)

  private val Most = 10_000
  private val Pause: FiniteDuration = 5.seconds

  /** Who asks again for the same flare does so by then ([[Submitting]]). */
  private val SubmittedAgainWithin: FiniteDuration = 10.seconds

  /** More than the database may be at a statement (`burst.store.postgresql.statement-timeout`). */
  private val ArrivedWithin: FiniteDuration = 60.seconds
