package burst.protocol

import burst.protocol.KebabCase.given
import io.circe.Codec
import io.circe.derivation.ConfiguredEnumCodec

/** What went wrong, at the coarseness a user or a policy acts upon. On the wire in kebab-case. */
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
    pack: Option[Int] = None,
    invoker: Option[InvokerId] = None,
    operation: Option[String] = None
) derives Codec.AsObject:

  /** Fills in who it was, where the reporter did not know. */
  def at(invoker: InvokerId, pack: Int): Failure =
    copy(invoker = this.invoker.orElse(Some(invoker)), pack = this.pack.orElse(Some(pack)))

  /** With texts that are not longer than a list of failures can bear. */
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

/** What was going on when something failed, as the failure's `operation` names it. Those of the BCM and of
  * users' programs have names of their own.
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

  /** Keeping the flare's record and outputs. */
  val Store = "store"

  /** Bringing the package to the machine, which could not take it. */
  val Fetch = "fetch"

  /** Making the container: nothing of the user's has run in it. */
  val Create = "create"

  /** Starting the user's program in it. */
  val Init = "init"

  /** Finding it room in a cluster, which had less than was thought. Nobody's fault, and no start: the flare
    * waits again.
    */
  val Schedule = "schedule"

  /** Having the image that the container is to be made of. */
  val Image = "image"

  /** Opening to the container what its namespace may reach. */
  val Connect = "connect"

  /** What an invoker was at for a pack whose program was not up: it tells whose fault a failed start is.
    * Programs may not say these.
    */
  val StartSteps: Set[String] = Set(Fetch, Create, Init, Schedule)
