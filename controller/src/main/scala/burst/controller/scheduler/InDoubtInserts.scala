package burst.controller.scheduler

import burst.controller.flare.{Flare, FlareRequest}
import burst.node.MonotonicTime
import burst.protocol.FlareId
import org.apache.pekko.actor.typed.scaladsl.{ActorContext, TimerScheduler}
import scala.concurrent.Future
import scala.concurrent.duration.{DurationInt, FiniteDuration}
import scala.util.Try

/** Flares whose insert failed but may have arrived nevertheless: a connection can break after the commit.
  * Their submitters were told that they are not stored, and no actor has them. The store is searched for them
  * until it is certain that they are not there, even if the database was still busy with the insert. A flare
  * that is found is taken up if its submitter has a key, with which it can find the flare. Nobody knows of
  * any other once nobody submits it again: it is cancelled before it runs (docs/adr/0098). Belongs to the
  * scheduler's actor.
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

  /** Cancels a flare in doubt; returns whether it was one. */
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

  /** Returns those flares, of the ones that were looked for at that time and that nobody has submitted again,
    * that must be taken up, and whether they must run.
    */
  def found(asked: Vector[FlareId], there: Try[Vector[Flare]], at: MonotonicTime)(
      isThere: FlareId => Boolean
  ): Vector[(Flare, Boolean)] =
    isLooking = false
    for cause <- there.failed if !hasFailed do
      context.log.warn("failed inserts cannot be looked for; trying again until that can be done", cause)
    hasFailed = there.isFailure
    // Its insert may have failed once more during the query. A flare that has an actor may fail, too.
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
  /** `runs` is whether it runs if it is found; it is looked for once `after` has passed since its insert
    * failed.
    */
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

  /** Longer than anyone keeps submitting the same flare, with pauses of up to most of that time
    * ([[Submitting]]).
    */
  private val SubmittedAgainWithin: FiniteDuration = 3.minutes

  /** Longer than the database works on a statement (`burst.store.postgresql.statement-timeout`, 30 s). */
  private val ArrivedWithin: FiniteDuration = SubmittedAgainWithin
