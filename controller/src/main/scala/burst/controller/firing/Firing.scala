package burst.controller.firing

import burst.controller.action.*
import burst.controller.store.{Blocking, Identity, StoreRetry}
import burst.controller.trigger.{AttachedRule, RuleStatus, Trigger}
import burst.node.logs.LogIds.of
import burst.controller.scheduler.Refusal
import burst.protocol.{FlareId, JsonText, Origin, Timestamp}
import io.circe.{Json, JsonObject}
import java.util.concurrent.ConcurrentHashMap
import org.apache.pekko.stream.Materializer
import org.apache.pekko.stream.scaladsl.{Sink, Source}
import org.slf4j.LoggerFactory
import scala.concurrent.{ExecutionContext, Future}
import scala.util.control.NonFatal

/** Fires triggers: invokes the action of each active rule, waits for none of them, and stores a record of the
  * outcomes.
  *
  * @param explained
  *   whether a refusal is the platform's fault, and the sentence that explains it
  */
final class Firing(
    actions: Actions,
    invocations: Invocations,
    blocking: Blocking,
    explained: InvocationRefusal => (Boolean, String),
    now: () => Timestamp = () => ActivationHead.now()
)(using Materializer):
  import Firing.*
  private given ExecutionContext = summon[Materializer].executionContext

  /** Fires a trigger. Returns the record's id, once it is stored; nothing, and stores no record, if no rule
    * is active.
    *
    * @param headers
    *   of the request, which the actions receive
    * @param patience
    *   with a store that fails before an action is invoked, and when the record is stored. The invocation
    *   itself is not retried, as it may have begun.
    */
  def fire(
      caller: Identity,
      trigger: Trigger,
      payload: JsonObject,
      headers: JsonObject,
      origin: Origin,
      patience: StoreRetry
  ): Future[Option[FlareId]] =
    val rules = trigger.rules.getOrElse(Vector.empty)
    if !rules.exists(_.status == RuleStatus.Active) then Future.successful(None)
    else
      val start = now()
      val own = trigger.parameters.toIterable ++ payload.toIterable
      // Last, so that nothing can override them.
      val arguments = Json.fromFields(own ++ Iterable("__ow_headers" -> Json.fromJsonObject(headers)))
      val fired = Fired(caller, arguments, JsonText.of(arguments), origin, patience.fromNow)
      // In parallel, as the caller would wait many times as long for many rules.
      for
        outcomes <- Source(rules)
          .mapAsync(AtOnce)(run(fired, trigger.namespace, _))
          .runWith(Sink.seq)
        id = FlareId.random()
        record = activation(id, caller, trigger, payload, start, outcomes.toVector)
        _ <- patience("storing what a trigger began")(() => invocations.record(record))
      yield Some(id)

  private def run(fired: Fired, namespace: String, rule: AttachedRule): Future[Json] =
    val name = ActionName.parse(rule.action.qualified, fired.caller.namespace)
    val ran = (rule.status, name) match
      case (RuleStatus.Active, Some(name)) => invoke(fired, name)
      case _ =>
        val sentence =
          s"Rule '$namespace/${rule.name}' is inactive, action '${shown(rule)}' was not activated."
        Future.successful(Left(ActivationStatus.ApplicationError -> sentence))
    ran
      .recover:
        case NonFatal(cause) =>
          log
            .atError()
            .of(fired.origin)
            .setCause(cause)
            .log("a rule's action could not be begun")
          Left(ActivationStatus.InternalError -> "The platform failed to begin the action.")
      .map(outcome(namespace, rule, _))

  private def invoke(fired: Fired, name: ActionName): Future[Outcome] =
    import fired.{caller, reading}
    reading("reading a rule's action")(() => blocking.reading(actions.find(caller, name))).flatMap:
      case Left(problem) => Future.successful(Left(ActivationStatus.ApplicationError -> sentence(problem)))
      case Right(action) =>
        fired
          .asking(action)(invocations.invoke(fired.invocation(action), None))
          .map:
            case Left(refusal) =>
              val (isPlatforms, sentence) = explained(refusal)
              val status =
                if isPlatforms then ActivationStatus.InternalError else ActivationStatus.ApplicationError
              Left(status -> sentence)
            case Right(Invoked.Running(id)) => Right(id)
            case Right(Invoked.Ended(activation)) => Right(activation.id)

  private def activation(
      id: FlareId,
      caller: Identity,
      trigger: Trigger,
      payload: JsonObject,
      start: Timestamp,
      outcomes: Vector[Json]
  ): Activation =
    val head = ActivationHead(
      id,
      caller.namespace,
      trigger.name,
      trigger.version,
      caller.namespace,
      start,
      end = None,
      duration = None,
      cause = None,
      ActivationStatus.Success,
      JsonObject.empty
    )
    Activation(head, Json.fromJsonObject(payload), outcomes.map(_.noSpaces))

object Firing:
  /** Rules of one trigger whose actions are invoked at the same time. */
  private[controller] val AtOnce = 8

  private val log = LoggerFactory.getLogger(classOf[Firing])

  /** The arguments of all rules' actions, as text only once, as a large payload would otherwise be in memory
    * many times.
    */
  private final class Fired(
      val caller: Identity,
      arguments: Json,
      text: JsonText,
      val origin: Origin,
      val reading: StoreRetry
  )(using ExecutionContext):
    /** Refusals for lack of room, by `admissionKey`: one for sequences and conductors, one for programs that
      * queue alike, one for each action that may need no slot of its own.
      */
    private val full = ConcurrentHashMap[String, InvocationRefusal]()

    def invocation(action: Action): Invocation =
      Invocation(caller, action, arguments, origin, text = Some(text))

    /** Invokes an action unless one like it was refused for lack of room: the remaining rules are then
      * refused without another try.
      */
    def asking(action: Action)(
        begin: => Future[Either[InvocationRefusal, Invoked]]
    ): Future[Either[InvocationRefusal, Invoked]] =
      val key = Fired.admissionKey(action)
      Option(full.get(key)) match
        case Some(refusal) => Future.successful(Left(refusal))
        case None =>
          begin.map: answer =>
            answer match
              case Left(refusal) if isFull(refusal) => val _ = full.put(key, refusal)
              case _ => ()
            answer

  private object Fired:
    /** The key of actions that are refused together: if there is no room for one of them, there is none for
      * the others.
      */
    def admissionKey(action: Action): String =
      val isByItself =
        action.definition.kind == BuiltIns.Kind || action.definition.action.concurrency > 1
      if isByItself then action.name.qualified
      else if Composition.isComposition(action) then "composition"
      else "program"

  private def isFull(refusal: InvocationRefusal): Boolean = refusal match
    case InvocationRefusal.RateLimited(_) | InvocationRefusal.Refused(Refusal.QueueFull(_)) => true
    case _ => false

  /** The activation that was begun, or why none was. */
  private type Outcome = Either[(ActivationStatus, String), FlareId]

  /** The outcome as a line of the record's log. */
  private def outcome(namespace: String, rule: AttachedRule, ran: Outcome): Json =
    val status = ran.fold(_(0), _ => ActivationStatus.Success)
    Json.obj(
      "rule" -> Json.fromString(s"$namespace/${rule.name}"),
      "action" -> Json.fromString(shown(rule)),
      "statusCode" -> Json.fromInt(status.ordinal),
      "success" -> Json.fromBoolean(ran.isRight),
      ran.fold(
        (_, sentence) => "error" -> Json.fromString(sentence),
        id => "activationId" -> Json.fromString(id.value)
      )
    )

  private def shown(rule: AttachedRule): String = s"${rule.action.path}/${rule.action.name}"

  private def sentence(problem: ActionProblem): String = problem match
    case ActionProblem.NoSuchAction(name) => s"There is no action '${name.qualified}'."
    case ActionProblem.NoSuchPackage(name) => s"There is no package '$name'."
    case ActionProblem.NotEntitled => "The action is in somebody else's namespace, and not published."
