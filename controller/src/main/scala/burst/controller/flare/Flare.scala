package burst.controller.flare

import org.apache.pekko.util.ByteString
import burst.protocol.JsonText
import burst.controller.definition.{FlareTerms, SealedEnvironment}
import burst.controller.placement.{PackPlacement, Plan}
import burst.protocol.{
  DefinitionRef,
  Failure,
  FlareId,
  GroupRole,
  Inputs,
  InvokerId,
  Origin,
  PackId,
  PackStart,
  SharedContainer,
  Timestamp
}
import burst.protocol.KebabCase.given
import io.circe.Codec
import io.circe.derivation.ConfiguredEnumCodec
import scala.concurrent.duration.FiniteDuration

/** `queued → placing → starting → running → succeeded | failed | cancelled | timed-out`; every state but the
  * first four is final, and each of those four may turn into `failed`, `cancelled` or `timed-out`.
  */
enum FlareState derives ConfiguredEnumCodec:
  case Queued, Placing, Starting, Running, Succeeded, Failed, Cancelled, TimedOut

  def isFinal: Boolean = ordinal >= Succeeded.ordinal

enum WorkerState derives ConfiguredEnumCodec:
  case Pending, Running, Succeeded, Failed, Cancelled

  def isFinal: Boolean = ordinal >= Succeeded.ordinal

/** The request for a flare, validated and complete. `egress` is its namespace's right to reach the internet.
  *
  * A group (`burst group open`) is a flare, too, with the role `Holder`: it is queued, placed and started
  * like any other, but its packs run nothing; its members do, one after the other. Its inputs are the
  * defaults below theirs, and its time-out is theirs unless they set one.
  *
  * The flare of an invocation has the data for its record in `activation`; its definition's namespace is then
  * the caller's, whoever owns the action. `submission` is set if a client may submit it again. `origin` is
  * the request that caused it. `isWaitedFor` if neither the caller nor anybody else learns of it before its
  * end: it need not be stored before it runs.
  */
final case class FlareRequest(
    definition: DefinitionRef,
    size: Int,
    inputs: Inputs,
    terms: FlareTerms,
    group: Option[GroupRole] = None,
    egress: Boolean = false,
    environment: SealedEnvironment = SealedEnvironment.Empty,
    activation: Option[ActivationFields] = None,
    submission: Option[Submission] = None,
    origin: Option[Origin] = None,
    isWaitedFor: Option[Boolean] = None
):
  export terms.*

  /** Whether nobody learns of it before its end; with large inputs it would take memory until then. */
  def isUntoldBeforeItsEnd: Boolean =
    isWaitedFor.contains(true) && submission.isEmpty && inputs.length <= Inputs.Small

  def isGroup: Boolean = idleTimeout.isDefined

  /** How long a group may be without a flare. */
  def idleTimeout: Option[FiniteDuration] = group.collect { case GroupRole.Holder(idle) => idle }

  /** The request without inputs, which may be large, for code that does not need them. */
  def withoutInputs: FlareRequest = copy(inputs = Inputs.OutOfLine(inputs.length))

  /** The group this flare runs on. */
  def memberOf: Option[FlareId] = group.collect { case GroupRole.Member(group) => group }

/** A pack as it was placed; `shared` is the container in which other calls may run beside it. */
final case class PackRecord(
    pack: PackId,
    invoker: InvokerId,
    workers: Vector[Int],
    start: Option[PackStart],
    node: Option[String] = None,
    shared: Option[SharedContainer] = None
) derives Codec.AsObject

/** A worker as a user sees it. */
final case class WorkerRecord(
    worker: Int,
    pack: Option[PackId],
    state: WorkerState,
    started: Option[Timestamp],
    ended: Option[Timestamp],
    error: Option[Failure]
) derives Codec.AsObject

/** A flare in its present state. `granularity` is the one in force once it has been placed. */
final case class Flare(
    id: FlareId,
    request: FlareRequest,
    state: FlareState,
    attempt: Int,
    granularity: Option[Int],
    created: Timestamp,
    placed: Option[Timestamp],
    started: Option[Timestamp],
    ended: Option[Timestamp],
    error: Option[Failure],
    packs: Vector[PackRecord],
    workers: Vector[WorkerRecord]
):
  def namespace: String = request.definition.namespace

  /** The plan it has been placed by. */
  def plan: Plan =
    val placed = packs.map(pack =>
      val first = pack.workers.headOption.getOrElse(0)
      PackPlacement(pack.pack, pack.invoker, first, pack.workers.length, pack.node, pack.shared)
    )
    Plan(placed, granularity.getOrElse(placed.map(_.size).maxOption.getOrElse(0)))

  /** When the start of its pack began, or its run if the pack was up already. */
  def begun: Timestamp =
    val isCold = packs.headOption.exists(!_.start.contains(PackStart.Warm))
    val run = workers.headOption.flatMap(_.started).orElse(started)
    val begun = (if isCold then placed else run.orElse(placed)).getOrElse(created)
    // The start of a worker is reported by its program.
    ended.fold(begun)(begun.min).max(created)

/** A worker's output: a short text, or this many bytes that are stored out of line. */
enum Output:
  case Inline(text: JsonText)
  case OutOfLine(size: Long)

object Output:
  /** Bytes of an inline output; a runtime sends longer ones in pieces. */
  val MostInline: Int = 32 * 1024

/** A part of an output that is stored out of line. */
final case class OutputPiece(worker: Int, offset: Long, bytes: ByteString):
  def end: Long = offset + bytes.length

/** A worker's result: its output, or why there is none, or neither while the worker runs. */
final case class WorkerResult(worker: Int, output: Option[Output], error: Option[Failure]):
  def isOutOfLine: Boolean = output.exists:
    case _: Output.OutOfLine => true
    case _: Output.Inline => false

/** A mark of the timeline: `name` begins at `at`. */
final case class PhaseMark(worker: Int, name: String, at: Timestamp)
