package burst.controller.scheduler

import burst.controller.flare.{Flare, FlareRequest}
import burst.node.MonotonicTime
import burst.protocol.FlareId
import org.apache.pekko.actor.typed.scaladsl.{ActorContext, TimerScheduler}
import scala.concurrent.Future
import scala.concurrent.duration.{DurationInt, FiniteDuration}
import scala.util.Try

/** Flares whose insert failed, and may have arrived nevertheless: a connection may break after the commit.
  * Their submitters were told that they are not stored, and no actor has them. They are looked for until the
  * database has said, after all that it may still have been at, that they are not there. One that is there is
  * taken up where its submitter has a key, and finds it with that. Of any other nobody knows, once nobody
  * submits it again: it is cancelled before it runs (docs/adr/0098). Belongs to the scheduler's actor.
  */
private[scheduler] final class InDoubtInserts(
    environment: FlareEnvironment,
    context: ActorContext[GangScheduler.Command],
    timers: TimerScheduler[GangScheduler.Command]
):
  import GangScheduler.{FoundInDoubt, LookForInDoubt}
  import InDoubtInserts.*

  private var inDoubt = Map.empty[FlareId, InDoubt]
  private var isLooking = false
  private var hasFailed = false

  def add(id: FlareId, request: FlareRequest, isCancelled: Boolean): Unit =
    val hasKey = request.submission.isDefined
    val after = if hasKey then AskedForWithin else SubmittedAgainWithin
    val before = inDoubt.get(id)
    if before.isDefined || inDoubt.size < Most then
      val runs = hasKey && !isCancelled && before.forall(_.runs)
      val tenant = request.definition.namespace
      inDoubt = inDoubt.updated(id, InDoubt(tenant, runs, environment.clock.elapsed(), after))
      if before.isEmpty && inDoubt.size == Most then
        context.log.warn("no more than {} failed inserts are looked for", Most)
    lookSoon()

  /** Whether it is one of these, and will not run. */
  def cancel(id: FlareId): Boolean =
    inDoubt = inDoubt.updatedWith(id)(_.map(_.copy(runs = false)))
    inDoubt.contains(id)

  def cancelAllOf(tenant: String): Unit =
    inDoubt = inDoubt.map((id, one) => id -> (if one.tenant == tenant then one.copy(runs = false) else one))

  /** Asks the store for those whose time has come. */
  def query(): Unit =
    val now = environment.clock.elapsed()
    val due = inDoubt.collect { case (id, one) if one.isDue(now) => id }.toVector
    if due.isEmpty then lookSoon()
    else
      isLooking = true
      val found = Future(environment.store.unfinished(due))(using environment.blocking)
      context.pipeToSelf(found)(FoundInDoubt(due, _, now))

  /** Which of those that were asked for at a time, and that nobody has submitted again, are to be taken up,
    * and whether they are to run.
    */
  def found(asked: Vector[FlareId], there: Try[Vector[Flare]], at: MonotonicTime)(
      isThere: FlareId => Boolean
  ): Vector[(Flare, Boolean)] =
    isLooking = false
    for cause <- there.failed if !hasFailed do
      context.log.warn("failed inserts cannot be looked for; trying again until that can be done", cause)
    hasFailed = there.isFailure
    // Its insert may have failed once more while this was asked. One that is there may fail, too.
    def stillDue(id: FlareId): Option[InDoubt] =
      inDoubt.get(id).filter(_.isDue(at)).filterNot(_ => isThere(id))
    val taken =
      there.getOrElse(Vector.empty).flatMap(flare => stillDue(flare.id).map(one => flare -> one.runs))
    val settled =
      asked.filter(id => there.isSuccess && stillDue(id).exists(_.since + ArrivedWithin <= at))
    inDoubt = inDoubt -- taken.map(_._1.id) -- settled
    lookSoon()
    taken

  private def lookSoon(): Unit =
    if inDoubt.nonEmpty && !isLooking && !timers.isTimerActive(LookForInDoubt) then
      timers.startSingleTimer(LookForInDoubt, LookForInDoubt, Pause)

private object InDoubtInserts:
  /** `runs` if it is found, `after` so long since its insert has failed. */
  private final case class InDoubt(
      tenant: String,
      runs: Boolean,
      since: MonotonicTime,
      after: FiniteDuration
  ):
    def isDue(now: MonotonicTime): Boolean = since + after <= now

  private val Most = 10_000
  private val Pause: FiniteDuration = 5.seconds
  private val AskedForWithin: FiniteDuration = 10.seconds

  /** More than anybody goes on submitting the same flare again, who may pause for most of that
    * ([[Submitting]]).
    */
  private val SubmittedAgainWithin: FiniteDuration = 3.minutes

  /** More than the database is at a statement (`burst.store.postgresql.statement-timeout`, 30 s). */
  private val ArrivedWithin: FiniteDuration = SubmittedAgainWithin
