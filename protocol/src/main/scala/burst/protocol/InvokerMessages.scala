package burst.protocol

import burst.protocol.KebabCase.given
import burst.protocol.MessageCodecs.given
import com.github.plokhotnyuk.jsoniter_scala.core.JsonValueCodec
import com.github.plokhotnyuk.jsoniter_scala.macros.JsonCodecMaker
import io.circe.Codec
import io.circe.derivation.ConfiguredEnumCodec
import org.apache.pekko.util.ByteString
import scala.concurrent.duration.FiniteDuration

/** A message from a controller to an invoker, local or remote: the same data, which a session carries to
  * another process. The receiver of the answers is named beside it (`InvokerRequest`).
  */
sealed trait ToInvoker

/** A command to an invoker. Every `PreparePack` is answered by reports that end with exactly one
  * `PackEvent.PackEnded`, whatever happens. A group's pack is `Ready` once its program is up; a member runs
  * in the group's pack with the same number, and fails if that pack has ended.
  */
sealed trait InvokerCommand extends ToInvoker

final case class PreparePack(assignment: PackAssignment) extends InvokerCommand

/** Sent when every pack of the flare is ready; endpoints are indexed by pack id. */
final case class StartPack(flareId: FlareId, pack: PackId, endpoints: Vector[Option[String]])
    extends InvokerCommand

/** Ends a pack: its workers' operations return the failure, and after the grace period it is killed. */
final case class AbortPack(flareId: FlareId, pack: PackId, failure: Failure) extends InvokerCommand

/** The outputs in the pack's last report are stored: it can send more. Sent for every report with more than a
  * little output.
  */
final case class OutputStored(flareId: FlareId, pack: PackId) extends InvokerCommand

/** Asks for everything that a pack has reported and that was not [[PackStored]], and then for its further
  * reports. Sent by a scheduler that takes over, for a pack that the invoker `Holds`.
  */
final case class AdoptPack(flareId: FlareId, attempt: Int, pack: PackId) extends InvokerCommand

/** The first `reports` reports of a pack are stored and will not be asked for again; if it is `over`, there
  * will be no more of them.
  */
final case class PackStored(flareId: FlareId, attempt: Int, pack: PackId, reports: Long, over: Boolean)
    extends InvokerCommand

/** Deletes what a flare left on its backend. Sent once, when all packs of the flare have ended; answered by
  * `FlareCleaned`.
  */
final case class CleanFlare(flareId: FlareId, backend: BackendConfig) extends InvokerCommand

/** Packs that wait for room that a cluster does not have: `count` packs, each with so many workers with so
  * much memory (MiB).
  */
final case class WantedPacks(workers: Int, memory: Int, count: Int) derives Codec.AsObject

/** All packs that wait for more room than the invoker's cluster has. In a session it is sent with `Seen`. */
final case class WantRoom(packs: Vector[WantedPacks]) extends InvokerCommand

/** To an invoker that is leaving: no flare has slots there any more, and none will. In a session it is sent
  * with `Seen`.
  */
case object NothingMore extends InvokerCommand

/** The answer to `FetchPackage`. */
sealed trait PackageReply extends ToInvoker
final case class PackageChunk(packageId: PackageId, offset: Long, bytes: ByteString, total: Long)
    extends PackageReply
final case class PackageMissing(packageId: PackageId) extends PackageReply

/** Messages sent at the same time, in this order. Since version 3 of the protocol between nodes. */
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

/** A message from an invoker to the controller. */
sealed trait ToController

/** The outcome of a command. */
sealed trait InvokerReport extends ToController

/** How a pack came up: a fresh container, or one that ran the same definition before. */
enum PackStart derives ConfiguredEnumCodec:
  case Cold, Prewarmed, Warm

/** An invoker's report on one pack. `start` is set on the report that carries `Ready`; `slots` is set when
  * some of its workers have ended and their resources are free: it is how many slots the pack still needs.
  * The pack of an invocation reports when its program is about to begin (`begins`): if the invoker or
  * container is lost after that, nobody knows whether it did. It also reports if it is known not to have
  * begun. In a session a pack's reports have a `number`, from 1 on, by which `PackStored` refers to them.
  */
final case class PackReport(
    flareId: FlareId,
    attempt: Int,
    pack: PackId,
    invoker: InvokerId,
    start: Option[PackStart],
    events: Vector[PackEvent],
    slots: Option[Int] = None,
    begins: Option[Boolean] = None,
    number: Option[Long] = None
) extends InvokerReport:

  def packKey: PackKey = PackKey(flareId, attempt, pack)

  /** Whether the report is answered by `OutputStored`. */
  def isAnswered: Boolean = PackReport.outputBytes(events) > PackReport.FreeOutput

object PackReport:
  /** Bytes of outputs that a report may hold without being answered. */
  val FreeOutput: Long = 4 * 1024

  def outputBytes(events: Vector[PackEvent]): Long = events.iterator.map:
    case PackEvent.Output(_, text) => text.length.toLong
    case PackEvent.WorkerSucceeded(_, output, _) => output.length.toLong
    case _ => 0L
  .sum

  /** The length of everything in them that users' programs have written, in characters. */
  def length(events: Vector[PackEvent]): Long = outputBytes(events) + events.iterator.map:
    case PackEvent.Log(_, _, text, _) => text.length.toLong
    case PackEvent.Phase(_, name, _) => name.length.toLong
    case PackEvent.WorkerFailed(_, error, _) => error.message.length.toLong
    case PackEvent.PackEnded(_, error, _, _) => error.fold(0)(_.message.length).toLong
    case _ => 0L
  .sum

final case class FlareCleaned(flareId: FlareId, error: Option[Failure]) extends InvokerReport

/** The first message of a session: the packs that the invoker has kept from the previous session, with
  * another scheduler, or how they ended. It reports nothing about them until asked to (`AdoptPack`). If it is
  * `unbroken`, the invoker has all packs that it was ever asked for and that are not over; otherwise, all
  * those of flares placed since it was first welcomed, by the clock of the scheduler that welcomed it
  * (`Welcome.at`).
  */
final case class Holds(packs: Vector[PackKey], unbroken: Boolean, since: Option[Timestamp] = None)
    extends ToController

/** Asks for a package's bytes from `offset` on. */
final case class FetchPackage(packageId: PackageId, offset: Long) extends ToController

/** Messages sent at the same time, in this order. Since version 3 of the protocol between nodes. */
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
