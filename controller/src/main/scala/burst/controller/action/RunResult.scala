package burst.controller.action

import burst.controller.flare.{Flare, FlareState}
import burst.controller.json.JsonPieces
import burst.protocol.{Failure, FailureKind, JsonText, StartOperation}
import io.circe.Json

/** What a worker put out, as far as it is looked at. */
enum RunOutput:
  case Nothing
  case Text(text: JsonText)

  /** Beyond what a result may have: its size and how it begins. */
  case TooLarge(size: Long, beginning: String)

/** How a run ended, and the result that its caller is given. */
final case class RunResult(status: ActivationStatus, result: JsonText)

/** How our failures read in OpenWhisk's words. */
object RunResult:
  import ActivationStatus.*

  /** Bytes of a result. */
  val MostBytes: Int = 1024 * 1024

  /** @param pieces
    *   knows how deep a result may be nested
    */
  def of(flare: Flare, output: RunOutput, pieces: JsonPieces): RunResult =
    flare.error match
      case None => returned(output, pieces)
      case Some(failure) => failed(flare, failure)

  def error(status: ActivationStatus, text: String): RunResult =
    RunResult(status, JsonText.of(Json.obj("error" -> Json.fromString(text))))

  def isTimeout(flare: Flare): Boolean = flare.state == FlareState.TimedOut && !waited(flare.error)

  private def returned(output: RunOutput, pieces: JsonPieces): RunResult = output match
    case RunOutput.Nothing => error(DeveloperError, Invalid)
    case RunOutput.TooLarge(size, beginning) =>
      error(
        ApplicationError,
        s"The action produced a response that exceeded the allowed length: $size > $MostBytes bytes. " +
          s"The truncated response was: $beginning"
      )
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

  private[action] def failed(flare: Flare, failure: Failure): RunResult =
    val inStart = failure.operation.contains(StartOperation.Init)
    failure.kind match
      case FailureKind.Timeout if waited(Some(failure)) => error(InternalError, NoResources)
      case FailureKind.Timeout =>
        val during = if failure.operation.contains("start") then " during initialization" else ""
        error(
          DeveloperError,
          s"The action exceeded its time limits of ${flare.request.timeout} milliseconds$during."
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
      // Mostly another call in its container has ended that, which is no machine's fault.
      case FailureKind.PackLost if flare.request.definition.concurrency > 1 =>
        error(InternalError, s"${failure.message}; invoke the action again.".capitalize)
      case FailureKind.PackLost | FailureKind.InvokerLost =>
        error(InternalError, "The machine that ran the action was lost; invoke the action again.")
      case FailureKind.PeerFailed | FailureKind.Backend | FailureKind.Internal =>
        error(InternalError, "The platform failed to run the action.")

  /** For slots, and not for the action. */
  private def waited(failure: Option[Failure]): Boolean = failure.exists(_.operation.contains("queue"))

  private val Invalid = "The action did not produce a valid JSON response."
  private val NoResources = "Failed to provision resources to run the action."
