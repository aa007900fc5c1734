package burst.protocol

import burst.protocol.KebabCase.given
import burst.protocol.MessageCodecs.given
import com.github.plokhotnyuk.jsoniter_scala.core.JsonValueCodec
import com.github.plokhotnyuk.jsoniter_scala.macros.JsonCodecMaker
import io.circe.Codec
import io.circe.derivation.ConfiguredEnumCodec
import org.apache.pekko.util.ByteString
import scala.concurrent.duration.FiniteDuration

/** What a controller says to an invoker, near or far: the same data, which a session carries to another
  * process. The receiver of the answers is named beside it (`InvokerRequest`).
  */
sealed trait ToInvoker

/** What an invoker is to do. Every `PreparePack` is answered by reports that end with exactly one
  * `PackEvent.PackEnded`, whatever happens. A group's pack is `Ready` once its program is up; a member runs
  * in the place of the group's pack with the same number, and fails where that is gone.
  */
sealed trait InvokerCommand extends ToInvoker

final case class PreparePack(assignment: PackAssignment) extends InvokerCommand

/** Sent when every pack of the flare is ready; endpoints stand by pack id. */
final case class StartPack(flareId: FlareId, pack: Int, endpoints: Vector[Option[String]])
    extends InvokerCommand

/** Ends a pack: its workers' operations return the failure, and after the grace period it is killed. */
final case class AbortPack(flareId: FlareId, pack: Int, failure: Failure) extends InvokerCommand

/** The outputs in the pack's last report are stored: more may be sent. Told of every report with more than a
  * little of them.
  */
final case class OutputStored(flareId: FlareId, pack: Int) extends InvokerCommand

/** Asks for all that a pack has reported and that was not [[PackStored]], and then for what it reports. By a
  * scheduler that takes over, of a pack that the invoker `Holds`.
  */
final case class AdoptPack(flareId: FlareId, attempt: Int, pack: Int) extends InvokerCommand

/** What a pack told in its first `reports` reports is stored, and is not asked for again; where it is `over`,
  * nothing more of the pack is.
  */
final case class PackStored(flareId: FlareId, attempt: Int, pack: Int, reports: Long, over: Boolean)
    extends InvokerCommand

/** Deletes what a flare left on its backend. Sent once, when all packs of the flare have ended; answered by
  * `FlareCleaned`.
  */
final case class CleanFlare(flareId: FlareId, backend: BackendConfig) extends InvokerCommand

/** Packs that wait for room which a cluster does not have: so many, each of so many workers with so much
  * memory (MiB).
  */
final case class WantedPacks(workers: Int, memory: Int, count: Int) derives Codec.AsObject

/** All that wait for more of the invoker's cluster than there is. In a session it is told with `Seen`. */
final case class WantRoom(packs: Vector[WantedPacks]) extends InvokerCommand

/** To an invoker that is leaving: no flare has slots there any more, and none will. In a session it is told
  * with `Seen`.
  */
case object NothingMore extends InvokerCommand

/** The answer to `FetchPackage`. */
sealed trait PackageReply extends ToInvoker
final case class PackageChunk(packageId: PackageId, offset: Long, bytes: ByteString, total: Long)
    extends PackageReply
final case class PackageMissing(packageId: PackageId) extends PackageReply

/** What is said at the same time, in this order. Since version 3 of the protocol between nodes. */
final case class InvokerBundle(messages: Vector[ToInvoker]) extends ToInvoker

object ToInvoker:
  given Bundling[ToInvoker] with
    def bundle(messages: Vector[ToInvoker]): ToInvoker = InvokerBundle(messages)
    def length(message: ToInvoker): Long = message match
      case PreparePack(assignment) =>
        assignment.inputs.length + assignment.environment.length + assignment.invocation.length
      case StartPack(_, _, endpoints) => endpoints.iterator.map(_.fold(0L)(_.length.toLong)).sum
      case chunk: PackageChunk => chunk.bytes.length.toLong
      case _ => 0

  private given JsonValueCodec[FiniteDuration] = Durations.oftenInMicros
  private given JsonValueCodec[Vector[ToInvoker]] = MessageCodecs.Nested(summon[JsonValueCodec[ToInvoker]])
  given JsonValueCodec[ToInvoker] = JsonCodecMaker.make(MessageCodecs.kebabCased)

/** What an invoker says to the controller. */
sealed trait ToController

/** What became of a command. */
sealed trait InvokerReport extends ToController

/** How a pack came up: a fresh container, or one that ran the same definition before. */
enum PackStart derives ConfiguredEnumCodec:
  case Cold, Prewarmed, Warm

/** What an invoker reports of one pack. `start` is set on the report that carries `Ready`; `slots`, when some
  * of its workers have ended and what they used is free, is how many the pack still needs. An invocation's
  * pack says when its program is about to `begin`: should invoker or container be lost after that, nobody
  * knows whether it did; and that it did not, where that is known. In a session a pack's reports have a
  * `number`, from 1 on: what is stored of them is told by that (`PackStored`).
  */
final case class PackReport(
    flareId: FlareId,
    attempt: Int,
    pack: Int,
    invoker: InvokerId,
    start: Option[PackStart],
    events: Vector[PackEvent],
    slots: Option[Int] = None,
    begins: Option[Boolean] = None,
    number: Option[Long] = None
) extends InvokerReport:

  def packKey: PackKey = PackKey(flareId, attempt, pack)

  /** Whether it is answered by `OutputStored`. */
  def isAnswered: Boolean = PackReport.outputBytes(events) > PackReport.FreeOutput

object PackReport:
  /** Bytes of outputs that a report may hold without being answered. */
  val FreeOutput: Long = 4 * 1024

  def outputBytes(events: Vector[PackEvent]): Long = events.iterator.map:
    case PackEvent.Output(_, text) => text.length.toLong
    case PackEvent.WorkerSucceeded(_, output, _) => output.length.toLong
    case _ => 0L
  .sum

  /** Of all that users' programs have written into them, in characters. */
  def length(events: Vector[PackEvent]): Long = outputBytes(events) + events.iterator.map:
    case PackEvent.Log(_, _, text, _) => text.length.toLong
    case PackEvent.Phase(_, name, _) => name.length.toLong
    case PackEvent.WorkerFailed(_, error, _) => error.message.length.toLong
    case PackEvent.PackEnded(_, error, _, _) => error.fold(0)(_.message.length).toLong
    case _ => 0L
  .sum

final case class FlareCleaned(flareId: FlareId, error: Option[Failure]) extends InvokerReport

/** The first message of a session: the packs that the invoker has kept from the one before, with another
  * scheduler, or the ends of them. It tells nothing of them until it is asked to (`AdoptPack`). Where it is
  * `unbroken` the invoker has them all that it was ever asked for and that are not over; else those of flares
  * that were placed since it was first welcomed, by the clock of the scheduler that welcomed it
  * (`Welcome.at`).
  */
final case class Holds(packs: Vector[PackKey], unbroken: Boolean, since: Option[Timestamp] = None)
    extends ToController

/** Asks for a package's bytes from there on. */
final case class FetchPackage(packageId: PackageId, offset: Long) extends ToController

/** What is said at the same time, in this order. Since version 3 of the protocol between nodes. */
final case class ControllerBundle(messages: Vector[ToController]) extends ToController

object ToController:
  given Bundling[ToController] with
    def bundle(messages: Vector[ToController]): ToController = ControllerBundle(messages)
    def length(message: ToController): Long = message match
      case report: PackReport => PackReport.length(report.events)
      case _ => 0

  private given JsonValueCodec[Vector[ToController]] =
    MessageCodecs.Nested(summon[JsonValueCodec[ToController]])
  given JsonValueCodec[ToController] = JsonCodecMaker.make(MessageCodecs.kebabCased)
