package burst.controller.action

import burst.controller.action.Composition.*
import burst.controller.definition.KindFamily
import burst.controller.json.JsonPieces
import burst.protocol.{FlareId, JsonText, Timestamp}
import io.circe.syntax.*
import io.circe.Json
import org.apache.pekko.util.ByteString
import scala.concurrent.duration.{Duration, FiniteDuration}

/** The progress of an invocation of several actions. */
private[action] final case class Progress(
    components: Vector[FlareId] = Vector.empty,
    duration: FiniteDuration = Duration.Zero,
    memory: Option[Long] = None
):
  def after(record: ActivationRecord): Progress =
    val used = record.annotations("limits").flatMap(_.hcursor.get[Long]("memory").toOption)
    Progress(
      components :+ record.id,
      duration + record.duration.getOrElse(Duration.Zero),
      (memory ++ used).maxOption
    )

/** How a composition ended. */
private[action] final case class Composed(run: RunResult, progress: Progress)

/** What a whole tree of nested invocations has used up. Only one of its actions runs at a time. */
private[action] final class Spent(var prepaid: Boolean):
  private var actions = 0
  private var conductors = 0

  /** Counts one more action, or nested sequence, and returns whether it may run: sequences count as well, as
    * those without actions could nest endlessly.
    */
  def action(): Boolean =
    actions += 1
    actions <= MostComponents

  def conductor(): Boolean =
    conductors += 1
    conductors <= MostConductorRuns

  def isFull: Boolean = actions >= MostComponents

  /** Whether the call that begins now has been counted already. */
  def isCounted(): Boolean =
    val first = prepaid
    prepaid = false
    first

private[controller] object Composition:
  /** The most actions that a sequence or a conductor may run, including those that these run in turn. */
  val MostComponents: Int = Sequences.Most
  val MostConductorRuns: Int = 2 * MostComponents + 1

  val Kind: String = KindFamily.Sequence.name

  def isComposition(action: Action): Boolean = isSequence(action) || isConductor(action)
  def isSequence(action: Action): Boolean = action.definition.kind == Kind
  def isConductor(action: Action): Boolean = ActionRuns.isTruthy(action.annotations, "conductor")

  def begun(id: FlareId, call: Call): ActivationHead =
    val conductor = Option.when(isConductor(call.action))("conductor" -> true.asJson)
    RecordFields.begun(id, call, Kind, ("topmost" -> (!call.component).asJson) +: conductor.toSeq*)

  def ended(begun: ActivationHead, call: Call, composed: Composed, end: Timestamp): ActivationRecord =
    val action = call.action.definition
    val limits = Json.obj(
      "timeout" -> action.options.timeout.map(_.toMillis).asJson,
      "memory" -> composed.progress.memory.asJson,
      "logs" -> action.action.logs.asJson,
      "concurrency" -> action.action.concurrency.asJson
    )
    ActivationRecord(
      begun.copy(
        end = Some(end),
        duration = Some(composed.progress.duration),
        status = composed.run.status,
        annotations = begun.annotations.add("limits", limits.deepDropNullValues)
      ),
      composed.run.result,
      composed.progress.components.map(_.value)
    )

/** What a conductor requests next. */
private[action] enum Direction:
  /** Nothing: this is the final result. */
  case End(result: JsonText)

  /** An action, by its name, or the JSON that was sent instead of a name. */
  case Next(name: Either[JsonText, String], params: JsonText, state: Option[JsonText])

private[action] object Direction:
  /** @param members
    *   the members of `result`, which is the conductor's
    */
  def of(
      members: Vector[(String, JsonText)],
      result: JsonText,
      string: JsonText => Option[String]
  ): Direction =
    def member(name: String) = members.collectFirst { case (`name`, value) => value }
    val params = member("params").map(boxed("value", _))
    member("action") match
      case None => End(params.getOrElse(result))
      case Some(name) =>
        val state = member("state").map(boxed("state", _))
        Next(string(name).toRight(name), params.getOrElse(JsonText.EmptyObject), state)

  /** Wraps a value that is no object into an object with one member. */
  def boxed(name: String, value: JsonText): JsonText =
    if JsonPieces.first(value) == '{' then value
    else
      val key = Json.fromString(name).noSpaces
      JsonText(ByteString(s"{$key:") ++ value.bytes ++ ByteString("}"))
