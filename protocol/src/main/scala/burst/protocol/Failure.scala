package burst.protocol

import burst.protocol.KebabCase.given
import io.circe.Codec
import io.circe.derivation.ConfiguredEnumCodec

/** What went wrong, as coarsely as a user or a policy reacts to it. In kebab-case on the wire. */
enum FailureKind derives ConfiguredEnumCodec:
  case Error, Panic, Abort, Exit, Signal, OutOfMemory, Timeout, Cancelled, PeerFailed, PackLost, InvokerLost,
    StartFailed, Backend, InvalidInput, ControllerRestarted, Internal

/** A failure as data: who, during which operation, and why. The same shape travels from a worker's thread to
  * the user's terminal (docs/architecture/failure.md).
  */
final case class Failure(
    kind: FailureKind,
    message: String,
    worker: Option[Int] = None,
    pack: Option[PackId] = None,
    invoker: Option[InvokerId] = None,
    operation: Option[String] = None
) derives Codec.AsObject:

  /** Fills in the invoker and the pack if the reporter did not know them. */
  def at(invoker: InvokerId, pack: PackId): Failure =
    copy(invoker = this.invoker.orElse(Some(invoker)), pack = this.pack.orElse(Some(pack)))

  /** The failure with its texts cut to a length that a list of failures can hold. */
  def short: Failure =
    copy(
      message = Failure.cut(message, Failure.MessageLimit),
      operation = operation.map(Failure.cut(_, Failure.OperationLimit))
    )

object Failure:
  val MessageLimit = 4096
  val OperationLimit = 200

  private def cut(text: String, limit: Int): String =
    if text.length <= limit then text
    else text.take(if text(limit - 1).isHighSurrogate then limit - 1 else limit) + "…"

/** What was in progress when something failed, as named in the failure's `operation`. The BCM's and users'
  * programs' operations have names of their own.
  */
object Operation:
  /** Waiting for slots, for a group's turn or for inputs. */
  val Queue = "queue"

  /** Bringing up the packs. */
  val Start = "start"

  /** Running the user's function. */
  val Work = "work"

  /** Ending the packs before they end by themselves. */
  val Abort = "abort"

  /** Removing what a flare left on its backend. */
  val CleanUp = "cleanup"

  /** Storing the flare's record and outputs. */
  val Store = "store"

  /** Fetching the package, which the machine could not store. */
  val Fetch = "fetch"

  /** Making the container: none of the user's code has run in it. */
  val Create = "create"

  /** Starting the user's program in the container. */
  val Init = "init"

  /** Finding room for the pack in a cluster that had less than expected. Nobody's fault, and not a start: the
    * flare waits again.
    */
  val Schedule = "schedule"

  /** Providing the image that the container is made of. */
  val Image = "image"

  /** Opening the network to the container, as far as its namespace allows. */
  val Connect = "connect"

  /** What an invoker was doing for a pack whose program was not up yet: decides whose fault a failed start
    * is. Programs must not report these.
    */
  val StartSteps: Set[String] = Set(Fetch, Create, Init, Schedule)
