package burst.protocol

import io.circe.Codec
import io.circe.derivation.{Configuration, ConfiguredCodec, ConfiguredEnumCodec}
import org.apache.pekko.actor.typed.ActorRef
import org.apache.pekko.util.ByteString

/** What a flare has to do with a group. The group itself is a flare whose packs come up and then wait for
  * flares to run on them (`Holder`), but for no longer than `idleTimeout` (milliseconds); those are its
  * members. On the wire by `role`.
  */
enum GroupRole:
  case Holder(idleTimeout: Long)
  case Member(group: FlareId)

object GroupRole:
  given Configuration = Configuration.default.withDiscriminator("role").withKebabCaseConstructorNames
  given ConfiguredCodec[GroupRole] = ConfiguredCodec.derived

/** One pack of a flare, as the scheduler gave it to an invoker. `memory` is in MiB per worker. `timeLeft` is
  * how long it may run, in microseconds: clocks of machines differ, so that no time of day is told. `attempt`
  * tells the tries of one flare apart: reports of an older one are ignored. With `egress` its workers may
  * reach the internet, where the driver can keep others from it.
  */
final case class PackAssignment(
    flareId: FlareId,
    attempt: Int,
    definition: DefinitionRef,
    pack: Int,
    packSizes: Vector[Int],
    inputs: Inputs,
    backend: BackendConfig,
    secret: Secret,
    timeLeft: Long,
    memory: Int,
    autostart: Boolean,
    group: Option[GroupRole] = None,
    egress: Boolean = false
) derives Codec.AsObject:
  /** For those who have no use for inputs: they may be large. */
  def withoutInputs: PackAssignment = copy(inputs = Inputs.Hidden)

  def size: Int = packSizes(pack)
  def firstWorker: Int = packSizes.take(pack).sum
  def workers: Range = firstWorker until firstWorker + size

/** How a pack came up: a fresh container, or one that ran the same definition before. */
enum PackStart:
  case Cold, Prewarmed, Warm

object PackStart:
  given Configuration = Configuration.default.withKebabCaseConstructorNames
  given ConfiguredEnumCodec[PackStart] = ConfiguredEnumCodec.derived

/** What the controller asks of an invoker. Every `PreparePack` is answered by reports that end with exactly
  * one `PackEvent.PackEnded`, whatever happens. A group's pack is `Ready` once its program is up; a member
  * runs in the place of the group's pack with the same number, and fails where that is gone.
  */
object InvokerProtocol:
  sealed trait Command

  final case class PreparePack(assignment: PackAssignment, replyTo: ActorRef[PackReport]) extends Command

  /** Sent when every pack of the flare is ready; endpoints stand by pack id. */
  final case class StartPack(flareId: FlareId, pack: Int, endpoints: Vector[Option[String]]) extends Command

  /** Ends a pack: its workers' operations return the failure, and after the grace period it is killed. */
  final case class AbortPack(flareId: FlareId, pack: Int, failure: Failure) extends Command

  /** The outputs in the pack's last report are stored: more may be sent. Told of every report with more than
    * a little of them.
    */
  final case class OutputStored(flareId: FlareId, pack: Int) extends Command

  /** Deletes what a flare left on its backend. Sent once, when all packs of the flare have ended. */
  final case class CleanFlare(flareId: FlareId, backend: BackendConfig, replyTo: ActorRef[FlareCleaned])
      extends Command

  final case class FlareCleaned(flareId: FlareId, error: Option[Failure])

/** What an invoker reports of one pack. `start` is set on the report that carries `Ready`; `slots`, when some
  * of its workers have ended and what they used is free, is how many the pack still needs.
  */
final case class PackReport(
    flareId: FlareId,
    attempt: Int,
    pack: Int,
    invoker: InvokerId,
    start: Option[PackStart],
    events: Vector[PackEvent],
    slots: Option[Int] = None
) derives Codec.AsObject:

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

/** What a warm pack serves: flares of this definition version with this many MiB per worker. */
final case class WarmPack(definition: DefinitionRef, memory: Int) derives Codec.AsObject

/** The runtime an invoker starts packs with: what a package must be built for. */
final case class RuntimeInfo(arch: String, glibc: String) derives Codec.AsObject

/** What an invoker offers and how busy it is. `cpuLoad` is the machine's, from 0 to 1. `warmPacks` counts the
  * idle packs, `warm` says for what they are; `prewarmedPacks` are containers for no definition yet.
  */
final case class InvokerStatus(
    id: InvokerId,
    slots: Int,
    cpuLoad: Double,
    driver: String,
    warmPacks: Int,
    runtime: RuntimeInfo,
    prewarmedPacks: Int = 0,
    warm: Set[WarmPack] = Set.empty
) derives Codec.AsObject

/** What an invoker asks of the controller. */
object ControllerProtocol:
  sealed trait Message

  final case class RegisterInvoker(status: InvokerStatus, invoker: ActorRef[InvokerProtocol.Command])
      extends Message

  final case class Heartbeat(status: InvokerStatus) extends Message

  /** The invoker is not there any more, and nothing it ran runs on. */
  final case class UnregisterInvoker(
      id: InvokerId,
      invoker: ActorRef[InvokerProtocol.Command],
      reason: String
  ) extends Message

  final case class FetchPackage(packageId: PackageId, offset: Long, replyTo: ActorRef[PackageReply])
      extends Message

  sealed trait PackageReply
  final case class PackageChunk(packageId: PackageId, offset: Long, bytes: ByteString, total: Long)
      extends PackageReply
  final case class PackageMissing(packageId: PackageId) extends PackageReply
