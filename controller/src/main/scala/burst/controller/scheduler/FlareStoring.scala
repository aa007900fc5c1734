package burst.controller.scheduler

import burst.controller.flare.{Flare, FlareState}
import burst.controller.store.{
  AlreadySubmitted,
  FlareTaken,
  PackageGone,
  StoreException,
  StoreProblem,
  Superseded
}
import burst.node.logs.LogIds.of
import burst.protocol.{FlareId, Origin, PackId}
import org.apache.pekko.actor.typed.scaladsl.TimerScheduler
import org.slf4j.Logger

/** Stores a flare through [[FlareWriter]] and decides what happens when that fails: it retries for a limited
  * time ([[StoreBackoff]]); then it gives up the store, except for the record of a flare's end if the store
  * knows the flare. If not the database fails but the storage beside it, the data there is given up; if that
  * is only a part of the log, the flare continues. Belongs to the flare's actor.
  */
private[scheduler] final class FlareStoring(
    id: FlareId,
    origin: Option[Origin],
    writer: FlareWriter,
    settings: SchedulerSettings,
    timers: TimerScheduler[FlareActor.Command],
    log: Logger,
    health: StoreHealth
):
  import FlareActor.{StoreOverdue, WriteAgain}
  import FlareStoring.Outcome

  export writer.{
    awaited,
    clear,
    confirm,
    dropAwaited,
    flush,
    flushIfAwaited,
    isGivenUp,
    isUntouched,
    logs,
    outputs,
    phases,
    results,
    save,
    told
  }

  private val backoff = StoreBackoff(settings, timers, again = WriteAgain, overdue = StoreOverdue)

  /** How the flare ended, while that was announced but could not be stored: it is retried until it succeeds.
    */
  private var unstored = Option.empty[Flare]

  /** Whether its submitter was told that it is accepted before it was stored: then it must get a record in
    * any case.
    */
  private var isPromised = false

  /** The flare is stored later, or with its end, whether it `begins` now or waits. */
  def defer(flare: Flare, begins: Boolean): Unit =
    isPromised = true
    if begins then writer.begins()
    writer.save(flare)

  /** Whether its submitter can still be told that there is no such flare. */
  private def isOpen: Boolean = !writer.isInserted && !isPromised

  /** Whether the end that was announced is not stored yet. */
  def hasUnstoredEnd: Boolean = unstored.nonEmpty

  /** The store has failed for the longest time that is tolerated. */
  def overdue(): Unit = backoff.exhaust()

  /** Must be called with each outcome that was sent, before anything else is done with it. */
  def finished(written: Written): Outcome =
    val packs = writer.finished(written)
    written match
      // This says nothing about the database.
      case Written.Gathered(_) => Outcome.Gathered(packs, writer.storageFailure)
      case Written.Done(confirms, _, told, _) =>
        health.succeeded()
        unstored = None
        backoff.reset()
        Outcome.Stored(confirms, packs, told)
      case Written.Failed(operation, cause, _) =>
        backoff.begin()
        val taken = cause.isInstanceOf[FlareTaken]
        if !taken && !isRefusal(cause) then health.failed()
        if taken || isOpen || isRefusal(cause) || writer.isGivenUp then fail(operation, cause, taken)
        else if backoff.isExhausted then
          val lost = giveUpBeside(cause)
          if lost.isEmpty || lost.workers.nonEmpty then fail(operation, cause, taken, lost.workers)
          else
            log.atError().of(id, origin).setCause(cause).log("a part of a flare's log cannot be stored")
            backoff.reset()
            backoff.begin()
            tryAgain
        else
          if backoff.isFirst then
            val reason = StoreProblem.of(cause).reason
            log.atWarn().of(id, origin).log("{} fails, as {}; trying again", operation, reason)
          tryAgain

  private def tryAgain: Outcome =
    backoff.scheduleRetry()
    Outcome.TriedAgain

  /** If the flare's end is announced, data that was not given up before is stored together with it. */
  private def giveUpBeside(cause: Throwable): FlareWriter.Lost = cause match
    case _: StoreException => FlareWriter.Lost.Nothing
    case _ if hasUnstoredEnd => FlareWriter.Lost.Nothing
    case _ => writer.giveUpBeside()

  private def fail(operation: String, cause: Throwable, taken: Boolean, lost: Set[Int] = Set.empty): Outcome =
    if !writer.isGivenUp && !isRefusal(cause) then
      log.atError().of(id, origin).setCause(cause).log("the store failed during {}", operation)
    // its submitter is told that there is no such flare
    val mayBeThere = isOpen && !writer.isGivenUp && !isAnswer(cause)
    if taken || isOpen then writer.giveUp()
    backoff.reset()
    // what is written from now on is the end: that is retried, too
    if !writer.isGivenUp then timers.startSingleTimer(WriteAgain, WriteAgain, settings.storeRetryPause)
    writer.dropConfirms()
    Outcome.Failed(operation, cause, mayBeThere, lost)

  /** Whether it is certain that nothing was stored: the database has said so, or was not asked. */
  private def isAnswer(cause: Throwable): Boolean = cause match
    case _: (FlareTaken | Superseded) => true
    case failure: StoreException => isRefusal(failure)
    case _ => true

  /** Whether the store works and has refused the flare. */
  private def isRefusal(cause: Throwable): Boolean = cause match
    case _: (PackageGone | AlreadySubmitted) => true
    case _ => false

  /** The flare has failed because of its store; if it has ended by that, this is its record. */
  def failedWith(ended: Option[Flare]): Unit =
    unstored = ended.filterNot(_ => writer.isGivenUp)
    unstored.foreach(writer.save)

private[scheduler] object FlareStoring:
  enum Outcome:
    /** The records that were to be confirmed as durable, the packs that may send more outputs, and how many
      * reports of each pack are stored.
      */
    case Stored(confirms: Vector[(Int, FlareState)], packs: Set[PackId], told: Map[(Int, PackId), Long])
    case TriedAgain

    /** The packs that may send more outputs, and the outputs that cannot be gathered. */
    case Gathered(packs: Set[PackId], storageFailure: Option[StorageFailure])

    /** If `mayBeThere`, a flare that was not known to be stored may be stored nevertheless: the connection
      * may have broken after the commit. The outputs of workers that are `lost` are given up.
      */
    case Failed(operation: String, cause: Throwable, mayBeThere: Boolean, lost: Set[Int])
