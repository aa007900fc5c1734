package burst.controller.action

import burst.controller.definition.FlareTerms
import burst.controller.flare.{ActivationFields, FlareRequest, Submission}
import burst.controller.json.JsonPieces
import burst.controller.limits.MinuteCounts
import burst.controller.scheduler.{FlareService, FlareView, Refusal}
import burst.controller.store.{Blocking, Identity, StoreRetry, Transfers}
import burst.protocol.{FlareId, Inputs, JsonText, Origin}
import io.circe.JsonObject
import scala.concurrent.duration.{Deadline, Duration, FiniteDuration}
import scala.concurrent.{ExecutionContext, Future}
import scala.util.Success

/** A call on its way.
  *
  * @param component
  *   whether a sequence makes it
  * @param counted
  *   whether it has been counted among those of its minute
  * @param submission
  *   where its client may ask for it again
  * @param isWaitedFor
  *   whether its client learns nothing of it before its end, or until a while has passed
  */
private[action] final case class Call(
    caller: Identity,
    action: Action,
    payload: JsonText,
    origin: Origin,
    cause: Option[FlareId] = None,
    component: Boolean = false,
    counted: Boolean = false,
    submission: Option[Submission] = None,
    isWaitedFor: Boolean = false
)

/** An invocation that has been stored; `ended` waits for its end for so long at most. */
final case class Begun(id: FlareId, ended: FiniteDuration => Future[Option[ActivationRecord]])

/** Runs actions that are programs: each call a flare of one worker. */
private[action] final class ActionRuns(
    service: FlareService,
    actions: Actions,
    builtIns: BuiltInRuns,
    activations: Activations,
    counts: MinuteCounts,
    defaults: FlareTerms,
    pieces: JsonPieces,
    blocking: Blocking,
    transfers: Transfers,
    retry: StoreRetry
)(using ExecutionContext):
  import ActionRuns.*

  /** Also a part of a sequence, whose payload nobody has looked at before. */
  def begin(call: Call): Future[Either[InvocationRefusal, Begun]] =
    builtIns.of(call) match
      case _ if isTooLarge(call) =>
        Future.successful(Left(InvocationRefusal.PayloadTooLarge(MostPayload)))
      case Some(own) => counting(call)(builtIns.begin(call, own).map(Right(_)))
      case None =>
        val asked = Deadline.now
        counting(call)(flare(call)).map(_.map(begun(_, asked)))

  private def flare(call: Call): Future[Either[InvocationRefusal, FlareView]] =
    request(call) match
      case Left(refusal) => Future.successful(Left(refusal))
      case Right(wanted) => submit(call, wanted, Tries)

  /** What is refused was no flare. */
  def counting[A](call: Call)(
      work: => Future[Either[InvocationRefusal, A]]
  ): Future[Either[InvocationRefusal, A]] =
    if call.counted then work
    else
      val namespace = call.caller.namespace
      counts.take(namespace, call.caller.limits.invocationsPerMinute) match
        case Left(used) => Future.successful(Left(InvocationRefusal.RateLimited(used)))
        case Right(()) =>
          work.andThen:
            case Success(Right(_)) => ()
            case _ => counts.giveBack(namespace)

  private def isTooLarge(call: Call): Boolean = call.payload.length > MostPayload

  /** Why a call is not begun, whatever the action is. What a sequence gives its parts may name their final
    * parameters, as with OpenWhisk.
    */
  def problem(call: Call): Option[InvocationRefusal] =
    if isTooLarge(call) then Some(InvocationRefusal.PayloadTooLarge(MostPayload))
    else overridden(call.action, Iterator(call.payload), pieces).map(InvocationRefusal.FinalParameter(_))

  /** How long it is waited for counts from when it was asked for. */
  private def begun(seen: FlareView, asked: Deadline): Begun =
    val id = seen.flare.id
    def ended(seen: FlareView, deadline: Deadline) = seen match
      case FlareView(end, Vector(result)) => Future.successful(activations.of(end, result.output))
      case FlareView(end, _) =>
        retry.within(deadline.timeLeft)("reading an activation"): () =>
          transfers.blocking(end.namespace)(activations.of(end))
    Begun(
      id,
      limit =>
        val deadline = asked + limit
        if seen.flare.state.isFinal then ended(seen, deadline)
        else
          service.await(id, deadline.timeLeft.max(Duration.Zero)).flatMap:
            case Some(end) if end.flare.state.isFinal => ended(end, deadline)
            case _ => Future.successful(None)
    )

  private def request(call: Call): Either[InvocationRefusal, FlareRequest] =
    val limits = call.caller.limits
    val terms = FlareTerms.of(
      call.action.definition.options.copy(granularity = None, backend = None),
      defaults.copy(memory = defaults.memory.min(limits.memory))
    )
    if terms.memory > limits.memory then
      Left(InvocationRefusal.Refused(Refusal.OverLimit("memory", terms.memory, limits.memory)))
    else
      Right(FlareInvocation.request(
        call.caller,
        call.action,
        size = 1,
        Inputs.Shared(pieces.over(call.action.defaults, call.payload).text),
        terms,
        fields(call)
      ).copy(
        submission = call.submission,
        origin = Some(call.origin),
        isWaitedFor = Option.when(call.isWaitedFor)(true)
      ))

  private def fields(call: Call): ActivationFields =
    FlareInvocation
      .fields(call.caller, call.action, call.origin.transaction)
      .copy(cause = call.cause, component = call.component)

  /** What was read of the action may be no more by the time that the flare is stored: it is read again. */
  private def submit(
      call: Call,
      wanted: FlareRequest,
      tries: Int
  ): Future[Either[InvocationRefusal, FlareView]] =
    service
      .submit(wanted)
      .flatMap:
        case Left(Refusal.PackageGone) if tries > 1 =>
          blocking.reading(actions.find(call.caller, call.action.name)).flatMap: found =>
            val again =
              found.left.map(InvocationRefusal.Gone(_)).flatMap(action => request(call.copy(action = action)))
            again match
              case Right(wanted) => submit(call, wanted, tries - 1)
              case Left(refusal) => Future.successful(Left(refusal))
        case answer => Future.successful(answer.left.map(InvocationRefusal.Refused(_)))

object ActionRuns:
  /** Bytes of a call's payload. */
  val MostPayload: Int = 1024 * 1024
  private val Tries = 10

  /** A parameter that is final, as all of such an action are, and is given another value by one of these. */
  def overridden(action: Action, inputs: => Iterator[JsonText], pieces: JsonPieces): Option[String] =
    if !isTruthy(action.annotations, "final") then None
    else
      val named =
        inputs.flatMap(input => pieces.members(input.bytes, Int.MaxValue - 1).getOrElse(Vector.empty))
      named.map(_._1).find(name => action.parameters(name).exists(!_.isNull))

  /** As OpenWhisk reads annotations. */
  def isTruthy(annotations: JsonObject, name: String): Boolean =
    annotations(name).exists: value =>
      value.fold(
        false,
        identity,
        number => number.toDouble != 0,
        text => text.nonEmpty,
        _ => true,
        _ => true
      )

/** The flare of an invocation. */
object FlareInvocation:
  def fields(caller: Identity, action: Action, transaction: String): ActivationFields =
    val target = action.target
    ActivationFields(
      target.qualified.drop(1),
      action.definition.shownVersion,
      transaction,
      action.definition.action.logs,
      action.definition.action.concurrency,
      cause = None,
      component = false,
      binding = Option
        .when(action.name != target)(action.name.packageName.map(name => s"${action.name.namespace}/$name"))
        .flatten,
      burst = false,
      caller.uuid.filter(_ => ActionRuns.isTruthy(action.annotations, "provide-api-key"))
    )

  def request(
      caller: Identity,
      action: Action,
      size: Int,
      inputs: Inputs,
      terms: FlareTerms,
      fields: ActivationFields
  ): FlareRequest =
    val definition = action.definition
    FlareRequest(
      // Packs are the caller's, and never another's.
      definition.ref.copy(namespace = caller.namespace),
      size,
      inputs,
      terms,
      egress = caller.limits.egress,
      environment = definition.environment.started(action.initParameters),
      activation = Some(fields)
    )
