package burst.controller.action

import burst.controller.flare.{Flare, FlareState}
import burst.controller.json.JsonPieces
import burst.protocol.{Failure, FailureKind, JsonText, Operation}
import io.circe.{Json, Printer}
import java.io.{BufferedWriter, ByteArrayOutputStream, OutputStream, OutputStreamWriter}
import java.nio.charset.StandardCharsets.UTF_8
import org.apache.pekko.util.ByteString

/** A worker's output, as far as it is read. */
enum RunOutput:
  case Nothing
  case Text(text: JsonText)

  /** Larger than a result may be: its size and its beginning. */
  case TooLarge(size: Long, beginning: String)

object RunOutput:
  /** How many bytes of a result that is too large are shown. */
  private[action] val Shown = 1024

  private[action] def tooLarge(size: Long, bytes: ByteString): TooLarge =
    // A character may be split.
    TooLarge(size, bytes.take(Shown).decodeString(UTF_8).stripSuffix("\ufffd"))

/** How a run ended, and the result that its caller receives. */
final case class RunResult(status: ActivationStatus, result: JsonText)

/** Translates our failures into OpenWhisk's words. */
object RunResult:
  import ActivationStatus.*

  /** The most bytes of a result. */
  val MostBytes: Int = 1024 * 1024

  /** @param pieces
    *   defines how deeply a result may be nested
    */
  def of(flare: Flare, output: RunOutput, pieces: JsonPieces): RunResult =
    flare.error match
      case None => returned(output, pieces)
      case Some(failure) => failed(flare, failure)

  /** Returns the result of a built-in action. Of one that is too large, no more text is held than the limit.
    */
  private[action] def rendered(result: Json): RunResult =
    val text = Beginning(MostBytes)
    val writer = BufferedWriter(OutputStreamWriter(text, UTF_8))
    Printer.noSpaces.unsafePrintToAppendable(result, writer)
    writer.flush()
    if text.size > MostBytes then tooLarge(RunOutput.tooLarge(text.size, text.bytes))
    else
      val hasError = result.asObject.exists(_.contains("error"))
      RunResult(if hasError then ApplicationError else Success, JsonText(text.bytes))

  def error(status: ActivationStatus, text: String): RunResult =
    RunResult(status, JsonText.of(Json.obj("error" -> Json.fromString(text))))

  def isTimeout(flare: Flare): Boolean = flare.state == FlareState.TimedOut && !waited(flare.error)

  private def returned(output: RunOutput, pieces: JsonPieces): RunResult = output match
    case RunOutput.Nothing => error(DeveloperError, Invalid)
    case large: RunOutput.TooLarge => tooLarge(large)
    case RunOutput.Text(text) =>
      JsonPieces.first(text) match
        case '{' =>
          pieces.members(text.bytes, MostBytes) match
            case Right(members) =>
              val hasError = members.exists((name, _) => name == "error")
              RunResult(if hasError then ApplicationError else Success, text)
            case Left(_) => error(DeveloperError, Invalid)
        case '[' if pieces.elements(text.bytes, MostBytes).isRight => RunResult(Success, text)
        case _ => error(DeveloperError, Invalid)

  private def tooLarge(output: RunOutput.TooLarge): RunResult =
    error(
      ApplicationError,
      s"The action produced a response that exceeded the allowed length: ${output.size} > $MostBytes bytes. " +
        s"The truncated response was: ${output.beginning}"
    )

  private[action] def failed(flare: Flare, failure: Failure): RunResult =
    val inStart = failure.operation.contains(Operation.Init)
    failure.kind match
      case FailureKind.Timeout if waited(Some(failure)) => error(InternalError, NoResources)
      case FailureKind.Timeout =>
        val during = if failure.operation.contains(Operation.Start) then " during initialization" else ""
        error(
          DeveloperError,
          s"The action exceeded its time limits of ${flare.request.timeout.toMillis} milliseconds$during."
        )
      case FailureKind.OutOfMemory =>
        error(DeveloperError, "The action exhausted its memory and was aborted.")
      case FailureKind.Error | FailureKind.InvalidInput => error(DeveloperError, failure.message)
      case FailureKind.StartFailed if inStart => error(DeveloperError, failure.message)
      case FailureKind.Exit | FailureKind.Signal | FailureKind.Panic | FailureKind.Abort if inStart =>
        error(DeveloperError, "The action did not initialize and exited unexpectedly.")
      case FailureKind.Exit | FailureKind.Signal | FailureKind.Panic | FailureKind.Abort =>
        error(DeveloperError, "The action did not produce a valid response and exited unexpectedly.")
      case FailureKind.Cancelled => error(DeveloperError, "The action was cancelled before it ended.")
      case FailureKind.StartFailed => error(InternalError, NoResources)
      case FailureKind.ControllerRestarted =>
        error(InternalError, "The controller restarted; invoke the action again.")
      // Usually another call has ended the shared container, which is no machine's fault.
      case FailureKind.PackLost if flare.request.definition.concurrency > 1 =>
        error(InternalError, s"${failure.message}; invoke the action again.".capitalize)
      case FailureKind.PackLost | FailureKind.InvokerLost =>
        error(InternalError, "The machine that ran the action was lost; invoke the action again.")
      case FailureKind.PeerFailed | FailureKind.Backend | FailureKind.Internal =>
        error(InternalError, "The platform failed to run the action.")

  /** Whether it timed out while waiting for slots, not in the action. */
  private def waited(failure: Option[Failure]): Boolean =
    failure.exists(_.operation.contains(Operation.Queue))

  private val Invalid = "The action did not produce a valid JSON response."
  private val NoResources = "Failed to provision resources to run the action."

/** Counts the bytes that are written, and keeps the first `most`. */
private final class Beginning(most: Int) extends OutputStream:
  private val buffer = ByteArrayOutputStream()
  private var count = 0L

  def size: Long = count
  def bytes: ByteString = ByteString.fromArrayUnsafe(buffer.toByteArray)

  def write(byte: Int): Unit = write(Array(byte.toByte), 0, 1)

  override def write(bytes: Array[Byte], offset: Int, length: Int): Unit =
    buffer.write(bytes, offset, length.min(most - buffer.size))
    count += length
