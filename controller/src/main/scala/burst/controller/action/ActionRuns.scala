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

/** A call in progress.
  *
  * @param component
  *   whether a sequence makes it
  * @param counted
  *   whether it has been counted towards the calls of its minute
  * @param submission
  *   set if its client may repeat the request
  * @param isWaitedFor
  *   whether its client receives nothing before the call has ended, or until a while has passed
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

/** An invocation that has been stored; `ended` waits for its end, at most for the given time. */
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

  /** Begins a call, which may be a part of a sequence, whose payload nobody has checked before. */
  def begin(call: Call): Future[Either[InvocationRefusal, Begun]] =
    builtIns.of(call) match
      case _ if isTooLarge(call) =>
        Future.successful(Left(InvocationRefusal.PayloadTooLarge(MostPayload)))
      case Some(own) => counting(call)(builtIns.begin(call, own).map(Right(_)))
      case None =>
        val requested = Deadline.now
        counting(call)(flare(call)).map(_.map(begun(_, requested)))

  private def flare(call: Call): Future[Either[InvocationRefusal, FlareView]] =
    request(call) match
      case Left(refusal) => Future.successful(Left(refusal))
      case Right(flareRequest) => submit(call, flareRequest, Tries)

  /** Counts a call, unless it is refused. */
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

  /** Returns why a call is not begun, whatever its action, if so. Only for direct calls: a sequence's
    * payloads for its parts may set their final parameters, as with OpenWhisk.
    */
  def problem(call: Call): Option[InvocationRefusal] =
    if isTooLarge(call) then Some(InvocationRefusal.PayloadTooLarge(MostPayload))
    else overridden(call.action, Iterator(call.payload), pieces).map(InvocationRefusal.FinalParameter(_))

  /** The time to wait for the end counts from when the call was requested. */
  private def begun(seen: FlareView, requested: Deadline): Begun =
    val id = seen.flare.id
    def ended(seen: FlareView, deadline: Deadline) = seen match
      case FlareView(end, Vector(result)) => Future.successful(activations.of(end, result.output))
      case FlareView(end, _) =>
        retry.within(deadline.timeLeft)("reading an activation"): () =>
          transfers.blocking(end.namespace)(activations.of(end))
    Begun(
      id,
      limit =>
        val deadline = requested + limit
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

  /** Submits the flare; if its package was removed before the flare was stored, the action is read again. */
  private def submit(
      call: Call,
      flareRequest: FlareRequest,
      tries: Int
  ): Future[Either[InvocationRefusal, FlareView]] =
    service
      .submit(flareRequest)
      .flatMap:
        case Left(Refusal.PackageGone) if tries > 1 =>
          blocking.reading(actions.find(call.caller, call.action.name)).flatMap: found =>
            val again =
              found.left.map(InvocationRefusal.Gone(_)).flatMap(action => request(call.copy(action = action)))
            again match
              case Right(flareRequest) => submit(call, flareRequest, tries - 1)
              case Left(refusal) => Future.successful(Left(refusal))
        case answer => Future.successful(answer.left.map(InvocationRefusal.Refused(_)))

object ActionRuns:
  /** The most bytes of a call's payload. */
  val MostPayload: Int = 1024 * 1024
  private val Tries = 10

  /** Returns a final parameter to which one of the inputs gives another value, if there is one. All
    * parameters of an action annotated as final are final.
    */
  def overridden(action: Action, inputs: => Iterator[JsonText], pieces: JsonPieces): Option[String] =
    if !isTruthy(action.annotations, "final") then None
    else
      val named =
        inputs.flatMap(input => pieces.members(input.bytes, Int.MaxValue - 1).getOrElse(Vector.empty))
      named.map(_._1).find(name => action.parameters(name).exists(!_.isNull))

  /** Reads an annotation as a boolean, as OpenWhisk does. */
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

/** Makes the flare of an invocation. */
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
      // Packs belong to the caller, and to nobody else.
      definition.ref.copy(namespace = caller.namespace),
      size,
      inputs,
      terms,
      egress = caller.limits.egress,
      environment = definition.environment.started(action.initParameters),
      activation = Some(fields)
    )
