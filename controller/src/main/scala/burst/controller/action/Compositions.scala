package burst.controller.action

import burst.controller.action.Composition.*
import burst.controller.json.{Defaults, JsonPieces}
import burst.controller.scheduler.Refusal
import burst.controller.store.{Blocking, StoreException, StoreRetry}
import burst.protocol.{FlareId, JsonText}
import io.circe.{jawn, Json}
import java.util.concurrent.ConcurrentHashMap
import org.apache.pekko.actor.typed.Scheduler
import org.slf4j.LoggerFactory
import scala.concurrent.duration.{DurationInt, FiniteDuration}
import scala.concurrent.{ExecutionContext, Future, Promise}
import scala.util.control.NonFatal

/** Sequences and conductors: several actions, one after the other. Their progress is known only here while
  * they run; if this controller ends, their record says so ([[Records]]).
  *
  * @param overhead
  *   how long an action may take beyond its timeout, to be placed, started and ended
  * @param retry
  *   lets an accepted call continue although the store fails for a moment
  */
private[action] final class Compositions(
    runs: ActionRuns,
    actions: Actions,
    records: Records,
    pieces: JsonPieces,
    blocking: Blocking,
    overhead: FiniteDuration,
    retry: StoreRetry,
    states: StateBudget
)(using ExecutionContext, Scheduler):
  import Compositions.*

  private val entitlement = Entitlement(actions)

  /** How many are running, by namespace. */
  private val underWay = ConcurrentHashMap[String, Int]()

  def begin(call: Call): Future[Either[InvocationRefusal, Begun]] =
    val namespace = call.caller.namespace
    if underWay.merge(namespace, 1, _ + _) > MostAtOnce then
      leave(namespace)
      Future.successful(Left(InvocationRefusal.Refused(Refusal.QueueFull(MostAtOnce))))
    else
      val begun = lacking(call).flatMap:
        case Some(component) => Future.successful(Left(InvocationRefusal.NotEntitled(component)))
        case None => runs.counting(call)(start(call, Spent(prepaid = true)).map(Right(_)))
      begun.onComplete:
        case scala.util.Success(Right(running)) => running.end.onComplete(_ => leave(namespace))
        case _ => leave(namespace)
      begun.map(_.map(_.begun))

  /** Returns a component of a sequence that its caller may not invoke, if there is one. What cannot be read
    * at the moment is read and checked when its turn comes.
    */
  private def lacking(call: Call): Future[Option[ActionName]] =
    if !isSequence(call.action) then Future.successful(None)
    else
      blocking
        .reading(entitlement.lacking(call.caller, call.action))
        .recover { case _: StoreException => None }

  private def leave(namespace: String): Unit =
    val _ = underWay.computeIfPresent(namespace, (_, n) => n - 1)

  /** A running composition. */
  private final class Running(id: FlareId, val end: Future[ActivationRecord]):
    def begun: Begun = Begun(id, limit => within(limit)(end))

  private def start(call: Call, spent: Spent): Future[Running] =
    val id = FlareId.random()
    val head = Composition.begun(id, call)
    val path = call.action.target.path
    records.begin(head, path, call.submission, call.component):
      val composed =
        if isSequence(call.action) then
          components(
            call,
            id,
            spent,
            call.action.definition.action.components.toList,
            call.payload,
            Progress()
          )
        else conduct(call, id, spent, call.payload, None, Progress())
      // The payload may be large, and is no longer needed.
      val rest = call.copy(payload = JsonText.EmptyObject)
      val ended = composed
        .recover:
          case NonFatal(cause) =>
            log.error(s"sequence ${id.value} failed unexpectedly", cause)
            Composed(
              RunResult.error(ActivationStatus.InternalError, "The platform failed to go on."),
              Progress()
            )
        .map(Composition.ended(head, rest, _, ActivationHead.now()))
        .flatMap(record => records.end(record, path).map(_ => record))
      Running(id, ended)

  // ---- Sequences -----------------------------------------------------------------------------------------

  private def components(
      call: Call,
      id: FlareId,
      spent: Spent,
      names: List[String],
      payload: JsonText,
      progress: Progress
  ): Future[Composed] = names match
    case Nil => Future.successful(Composed(RunResult(ActivationStatus.Success, payload), progress))
    case name :: rest =>
      val withoutPayload = call.copy(payload = JsonText.EmptyObject)
      component(withoutPayload, id, spent, name, payload).flatMap:
        case Left(problem) => Future.successful(Composed(problem, progress))
        case Right(record) if record.status == ActivationStatus.Success =>
          components(withoutPayload, id, spent, rest, record.result, progress.after(record))
        case Right(record) =>
          Future.successful(Composed(RunResult(record.status, record.result), progress.after(record)))

  private def component(
      call: Call,
      id: FlareId,
      spent: Spent,
      name: String,
      payload: JsonText
  ): Future[Either[RunResult, ActivationRecord]] =
    ActionName.parse(name, call.caller.namespace) match
      case None => failed(s"The sequence's component '$name' has no valid name.")
      case Some(parsed) =>
        find(call, parsed).flatMap:
          case Left(ActionProblem.NotEntitled) =>
            failed(s"The sequence may not invoke its component '$name'.")
          case Left(_) => failed(s"The sequence's component '$name' does not exist.")
          case Right(_) if !spent.action() => failed("Too many actions in the sequence.")
          case Right(action) => run(part(call, id, action, payload), spent)

  private def find(call: Call, name: ActionName): Future[Either[ActionProblem, Action]] =
    retry("reading a sequence's part")(() => blocking.reading(actions.find(call.caller, name)))

  private def failed(text: String): Future[Either[RunResult, ActivationRecord]] =
    Future.successful(Left(RunResult.error(ActivationStatus.ApplicationError, text)))

  private def part(call: Call, id: FlareId, action: Action, payload: JsonText): Call =
    Call(call.caller, action, payload, call.origin, Some(id), component = true)

  /** Runs a part of a composition to its end. */
  private def run(call: Call, spent: Spent): Future[Either[RunResult, ActivationRecord]] =
    if isComposition(call.action) then start(call, spent).flatMap(_.end).map(Right(_))
    else program(call, spent)

  /** Runs a program, possibly that of a conductor. */
  private def program(call: Call, spent: Spent): Future[Either[RunResult, ActivationRecord]] =
    runs.begin(call.copy(counted = spent.isCounted())).flatMap:
      case Left(refusal) => Future.successful(Left(refused(refusal)))
      case Right(begun) =>
        val timeout = call.action.definition.options.timeout.getOrElse(Duration)
        begun.ended(timeout + overhead).map(_.toRight:
          RunResult.error(
            ActivationStatus.InternalError,
            s"Timeout reached when retrieving activation ${begun.id.value} for sequence component."
          ))

  private def refused(refusal: InvocationRefusal): RunResult =
    import ActivationStatus.{ApplicationError, InternalError}
    val (status, text) = refusal match
      case InvocationRefusal.RateLimited(used) =>
        ApplicationError -> s"This namespace may begin ${used.allowed} invocations a minute, and the next action would be one too many."
      case InvocationRefusal.FinalParameter(name) =>
        ApplicationError -> s"The parameter '$name' of the next action is final."
      case InvocationRefusal.PayloadTooLarge(limit) =>
        ApplicationError -> s"The next action's input has more than $limit bytes."
      case InvocationRefusal.NotEntitled(component) =>
        ApplicationError -> s"The sequence may not invoke its component '${component.qualified}'."
      case InvocationRefusal.Gone(_) =>
        ApplicationError -> "The next action was deleted before it could begin."
      case InvocationRefusal.Refused(Refusal.OverLimit(limit, requested, allowed)) =>
        ApplicationError -> s"The next action asks for $requested, but this namespace's limit for $limit is $allowed."
      case InvocationRefusal.Refused(_) =>
        InternalError -> "The platform could not take the next action; invoke it again."
    RunResult.error(status, text)

  // ---- Conductors ----------------------------------------------------------------------------------------

  private def conduct(
      call: Call,
      id: FlareId,
      spent: Spent,
      payload: JsonText,
      state: Option[JsonText],
      progress: Progress
  ): Future[Composed] =
    val withoutPayload = call.copy(payload = JsonText.EmptyObject)
    if !spent.conductor() then
      val problem = RunResult.error(ActivationStatus.ApplicationError, TooLong)
      Future.successful(Composed(problem, progress))
    else
      program(part(withoutPayload, id, call.action, merged(payload, state)), spent).flatMap:
        case Left(problem) => Future.successful(Composed(problem, progress))
        case Right(record) if record.status != ActivationStatus.Success =>
          Future.successful(Composed(RunResult(record.status, record.result), progress.after(record)))
        case Right(record) =>
          direction(record.result) match
            case Direction.End(result) =>
              Future.successful(Composed(RunResult(ActivationStatus.Success, result), progress.after(record)))
            case next: Direction.Next => directed(withoutPayload, id, spent, next, progress.after(record))

  private def direction(result: JsonText): Direction =
    pieces.members(result.bytes, RunResult.MostBytes) match
      case Right(members) => Direction.of(members, result, string)
      case Left(_) => Direction.End(result)

  private def string(text: JsonText): Option[String] =
    jawn.parseByteBuffer(text.bytes.asByteBuffer).toOption.flatMap(_.asString)

  /** Runs the action that a conductor requests. Errors in the request are returned to the conductor. */
  private def directed(
      call: Call,
      id: FlareId,
      spent: Spent,
      next: Direction.Next,
      progress: Progress
  ): Future[Composed] =
    def fault(text: String) =
      conduct(
        call,
        id,
        spent,
        JsonText.of(Json.obj("error" -> Json.fromString(text))),
        next.state,
        progress
      )
    val named = next.name.map(name => ActionName.parse(name, call.caller.namespace))
    named match
      case Right(Some(_)) if spent.isFull => fault(TooLong)
      case Right(Some(name)) =>
        find(call, name).flatMap:
          case Left(ActionProblem.NotEntitled) =>
            fault(s"Failed entitlement check for action with name \"${name.qualified}\" during composition.")
          case Left(_) =>
            fault(s"Failed to resolve action with name \"${name.qualified}\" during composition.")
          case Right(action) =>
            val _ = spent.action()
            // Copied, or the conductor's whole result would stay in memory.
            val state = next.state.map(own)
            val params = own(next.params)
            keeping(call.caller.namespace, state)(run(part(call, id, action, params), spent)).flatMap:
              case Left(problem) => Future.successful(Composed(problem, progress))
              case Right(record) => conduct(call, id, spent, record.result, state, progress.after(record))
      case _ =>
        val shown = next.name.fold(_.bytes.utf8String, Json.fromString(_).noSpaces).take(MostShown)
        fault(s"Failed to parse action name from json value $shown during composition.")

  private def own(text: JsonText): JsonText = JsonText(text.bytes.compact)

  /** Runs work while a state is held in memory, if there is room for it. */
  private def keeping[A](namespace: String, state: Option[JsonText])(
      work: => Future[Either[RunResult, A]]
  ): Future[Either[RunResult, A]] =
    val bytes = state.fold(0L)(_.length.toLong)
    states.take(namespace, bytes) match
      case Some(problem) => Future.successful(Left(problem))
      case None =>
        // Starts inside a future, so that nothing stays reserved if it throws.
        Future.unit.flatMap(_ => work).andThen { case _ => states.giveBack(namespace, bytes) }

  /** Returns a conductor's input: the state over the payload. */
  private def merged(payload: JsonText, state: Option[JsonText]): JsonText =
    state.fold(payload): own =>
      pieces.members(Direction.boxed("value", payload).bytes, RunResult.MostBytes) match
        case Right(members) => pieces.over(Defaults(members), own).text
        case Left(_) => own

private object Compositions:
  private val log = LoggerFactory.getLogger(classOf[Compositions])

  /** The most sequences and conductors of a namespace that may run in a controller. */
  val MostAtOnce = 1000

  /** How many characters of an invalid name are shown. */
  val MostShown = 200

  val TooLong = "Too many actions in the composition."

  /** The timeout of an action that sets none. */
  val Duration: FiniteDuration = 15.minutes

  /** Returns the result of work, or none if it takes longer than `limit`. */
  def within[A](limit: FiniteDuration)(work: Future[A])(using
      scheduler: Scheduler,
      ec: ExecutionContext
  ): Future[Option[A]] =
    if work.isCompleted then work.map(Some(_))
    else
      val first = Promise[Option[A]]()
      val timer = scheduler.scheduleOnce(
        java.time.Duration.ofNanos(limit.toNanos),
        () => { val _ = first.trySuccess(None) },
        ec
      )
      work.onComplete: done =>
        val _ = timer.cancel()
        val _ = first.tryComplete(done.map(Some(_)))
      first.future
