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
import burst.protocol.{FlareId, Origin}
import org.apache.pekko.actor.typed.scaladsl.TimerScheduler
import org.slf4j.Logger

/** Has a flare written ([[FlareWriter]]), and decides what becomes of it when that fails: it is tried again
  * while that is put up with ([[StoreBackoff]]); then the store is given up on, but for the record of a
  * flare's end where it knows the flare. Where what fails is not the database but what stands beside it, that
  * is given up, and if it is of the log alone the flare goes on. Belongs to the flare's actor.
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

  /** How it ended, while that was told but could not be stored: it is tried until it is. */
  private var unstored = Option.empty[Flare]

  /** Its submitter was told that it is accepted before it was stored: it is to have a record, come what may.
    */
  private var isPromised = false

  /** It is stored in a while, or with its end, whether it `begins` now or waits. */
  def defer(flare: Flare, begins: Boolean): Unit =
    isPromised = true
    if begins then writer.begins()
    writer.save(flare)

  /** Its submitter may still be told that there is none. */
  private def isOpen: Boolean = !writer.isInserted && !isPromised

  /** The end that was told is not stored yet. */
  def hasUnstoredEnd: Boolean = unstored.nonEmpty

  /** It has been put up with for long enough. */
  def overdue(): Unit = backoff.exhaust()

  /** To be called with what was told, before anything else is done with it. */
  def finished(written: Written): Outcome =
    val packs = writer.finished(written)
    written match
      // It says nothing of the database.
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

  /** What of a flare whose end is told was not given up by then is stored with that. */
  private def giveUpBeside(cause: Throwable): FlareWriter.Lost = cause match
    case _: StoreException => FlareWriter.Lost.Nothing
    case _ if hasUnstoredEnd => FlareWriter.Lost.Nothing
    case _ => writer.giveUpBeside()

  private def fail(operation: String, cause: Throwable, taken: Boolean, lost: Set[Int] = Set.empty): Outcome =
    if !writer.isGivenUp && !isRefusal(cause) then
      log.atError().of(id, origin).setCause(cause).log("the store failed during {}", operation)
    // its submitter is told that there is none
    val mayBeThere = isOpen && !writer.isGivenUp && !isAnswer(cause)
    if taken || isOpen then writer.giveUp()
    backoff.reset()
    // what is written from now on is the end: it is tried, too
    if !writer.isGivenUp then timers.startSingleTimer(WriteAgain, WriteAgain, settings.storeRetryPause)
    writer.dropConfirms()
    Outcome.Failed(operation, cause, mayBeThere, lost)

  /** Nothing is stored by this: the database has said so, or was not asked. */
  private def isAnswer(cause: Throwable): Boolean = cause match
    case _: (FlareTaken | Superseded) => true
    case failure: StoreException => isRefusal(failure)
    case _ => true

  /** The store is well. */
  private def isRefusal(cause: Throwable): Boolean = cause match
    case _: (PackageGone | AlreadySubmitted) => true
    case _ => false

  /** The flare has failed for its store; if it has ended by that, this is its record. */
  def failedWith(ended: Option[Flare]): Unit =
    unstored = ended.filterNot(_ => writer.isGivenUp)
    unstored.foreach(writer.save)

private[scheduler] object FlareStoring:
  enum Outcome:
    /** With whom waited for a record to be durable, the packs that may send more outputs, and how many
      * reports of which are stored.
      */
    case Stored(confirms: Vector[(Int, FlareState)], packs: Set[Int], told: Map[(Int, Int), Long])
    case TriedAgain

    /** The packs that may send more outputs, and what is not gathered as it cannot be. */
    case Gathered(packs: Set[Int], storageFailure: Option[StorageFailure])

    /** A flare that was not known to be stored may be nevertheless: the connection may have broken after the
      * commit. Of workers that are `lost` the outputs are given up.
      */
    case Failed(operation: String, cause: Throwable, mayBeThere: Boolean, lost: Set[Int])
