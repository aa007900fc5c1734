package burst.controller.action

import burst.controller.definition.FlareTerms
import burst.controller.json.JsonPieces
import burst.controller.limits.MinuteCounts
import burst.controller.scheduler.FlareService
import burst.controller.store.{Blocking, Identity}
import burst.protocol.{FlareId, JsonText}
import org.apache.pekko.actor.typed.Scheduler
import scala.concurrent.duration.FiniteDuration
import scala.concurrent.{ExecutionContext, Future}

/** [[Invocations]] by the scheduler of flares. */
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
    patience: FiniteDuration
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
      blocking
    )
  private val compositions = Compositions(runs, actions, records, pieces, blocking, patience)

  def invoke(
      invocation: Invocation,
      limit: Option[FiniteDuration]
  ): Future[Either[InvocationRefusal, Invoked]] =
    import invocation.{action, caller, cause, payload, transaction}
    begin(caller, action, JsonText.of(payload), transaction, cause).flatMap:
      case Left(refusal) => Future.successful(Left(refusal))
      case Right(begun) =>
        limit.fold(Future.successful(None))(begun.ended(_)).map: ended =>
          Right(ended.fold(Invoked.Running(begun.id))(record => Invoked.Ended(record.activation)))

  /** As [[invoke]], of texts that nobody needs to look into. Returns once it is stored.
    *
    * @param payload
    *   an object or an array, not nested too deep
    */
  def begin(
      caller: Identity,
      action: Action,
      payload: JsonText,
      transaction: String,
      cause: Option[FlareId] = None
  ): Future[Either[InvocationRefusal, Begun]] =
    val call = Call(caller, action, payload, transaction, cause)
    runs.problem(call) match
      case Some(refusal) => Future.successful(Left(refusal))
      case None if Composition.isComposition(action) => compositions.begin(call)
      case None => runs.begin(call)

  def record(activation: Activation): Future[Unit] =
    records.add(ActivationRecord.of(activation), FlareRecord.name(activation.name))
