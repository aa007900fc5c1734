package burst.controller.action

import burst.controller.definition.FlareTerms
import burst.controller.flare.Submission
import burst.controller.json.JsonPieces
import burst.controller.limits.MinuteCounts
import burst.controller.scheduler.{FlareService, Refusal}
import burst.controller.store.{AlreadySubmitted, Blocking, Identity, StoreRetry, Transfers}
import burst.protocol.{FlareId, JsonText, Origin}
import org.apache.pekko.actor.typed.Scheduler
import scala.concurrent.duration.{Deadline, DurationInt, FiniteDuration}
import scala.concurrent.{ExecutionContext, Future}

/** [[Invocations]] that run as flares of the scheduler. */
final class FlareInvocations(
    service: FlareService,
    actions: Actions,
    builtIns: BuiltIns,
    activations: Activations,
    records: Records,
    counts: MinuteCounts,
    defaults: FlareTerms,
    pieces: JsonPieces,
    blocking: Blocking,
    transfers: Transfers,
    overhead: FiniteDuration,
    retry: StoreRetry,
    stateMemory: Long = StateBudget.total
)(using ExecutionContext, Scheduler)
    extends Invocations:

  private val runs =
    ActionRuns(
      service,
      actions,
      BuiltInRuns(builtIns, records),
      activations,
      counts,
      defaults,
      pieces,
      blocking,
      transfers,
      retry
    )
  private val compositions =
    Compositions(runs, actions, records, pieces, blocking, overhead, retry, StateBudget(stateMemory))

  def invoke(
      invocation: Invocation,
      limit: Option[FiniteDuration]
  ): Future[Either[InvocationRefusal, Invoked]] =
    import invocation.{action, caller, cause, origin, payload}
    val text = invocation.text.getOrElse(JsonText.of(payload))
    val begun = begin(caller, action, text, origin, cause, isWaitedFor = waits(limit))
    begun.flatMap:
      case Left(refusal) => Future.successful(Left(refusal))
      case Right(begun) =>
        limit.fold(Future.successful(None))(begun.ended(_)).map: ended =>
          Right(ended.fold(Invoked.Running(begun.id))(record => Invoked.Ended(record.activation)))

  /** Does the same as [[invoke]] with a payload that need not be parsed. Completes once the invocation is
    * stored or, for one that is waited for, is about to be.
    *
    * @param payload
    *   an object or an array, not nested too deeply
    */
  def begin(
      caller: Identity,
      action: Action,
      payload: JsonText,
      origin: Origin,
      cause: Option[FlareId] = None,
      submission: Option[Submission] = None,
      isWaitedFor: Boolean = false
  ): Future[Either[InvocationRefusal, Begun]] =
    val call =
      Call(caller, action, payload, origin, cause, submission = submission, isWaitedFor = isWaitedFor)
    val begun = runs.problem(call) match
      case Some(refusal) => Future.successful(Left(refusal))
      case None if Composition.isComposition(action) => compositions.begin(call)
      case None => runs.begin(call)
    begun.recover:
      case _: AlreadySubmitted => Left(InvocationRefusal.Refused(Refusal.AlreadySubmitted))

  /** Returns an invocation that was begun before, possibly by another controller: its record is polled until
    * it exists.
    */
  def begun(caller: Identity, id: FlareId): Begun =
    Begun(id, limit => ended(caller, id, limit.fromNow, Pause.First))

  private def ended(
      caller: Identity,
      id: FlareId,
      deadline: Deadline,
      pause: FiniteDuration
  ): Future[Option[ActivationRecord]] =
    transfers.blocking(caller.namespace)(activations.find(caller.namespace, id)).flatMap:
      case None if deadline.hasTimeLeft() =>
        Pause.before(pause)(ended(caller, id, deadline, Pause.next(pause)))
      case found => Future.successful(found)

  /** Whether a caller that waits this long receives nothing before the invocation is stored. */
  def waits(limit: Option[FiniteDuration]): Boolean = limit.exists(_ >= FlareInvocations.Soon)

  def record(activation: Activation): Future[Unit] =
    records.add(ActivationRecord.of(activation), FlareRecord.name(activation.name))

object FlareInvocations:
  /** By then a running invocation is stored. */
  private val Soon: FiniteDuration = 5.seconds
