package burst.protocol

import io.circe.Codec
import io.circe.derivation.{Configuration, ConfiguredCodec}
import scala.concurrent.duration.FiniteDuration

/** What a flare has to do with a group. The group itself is a flare whose packs come up and then wait for
  * flares to run on them (`Holder`), but for no longer than `idleTimeout`; those are its members. On the wire
  * by `role`.
  */
enum GroupRole:
  case Holder(idleTimeout: FiniteDuration)
  case Member(group: FlareId)

object GroupRole:
  given Configuration = Configuration.default.withDiscriminator("role").withKebabCaseConstructorNames
  private given Codec[FiniteDuration] = Durations.inMillis
  given ConfiguredCodec[GroupRole] = ConfiguredCodec.derived

/** A container in which calls of one action run at the same time, named by the one that it was asked for
  * first. It has the one slot that was reserved for that one until the last of them has ended.
  */
final case class SharedContainer(flareId: FlareId, attempt: Int) derives Codec.AsObject

/** One pack of a flare, as the scheduler gave it to an invoker. `memory` is in MiB per worker. `timeLeft` is
  * how long it may run: clocks of machines differ, so that no time of day is told. `attempt` tells the tries
  * of one flare apart: reports of an older one are ignored. With `egress` its workers may reach the internet,
  * where the driver can keep others from it. `environment` is the program's: a member of a group has its
  * group's. `elsewhere` is how many of the flare's packs other invokers have. `invocation` is what a function
  * of OpenWhisk's is told of this run, by the names that its runtimes have for that (`activation_id`,
  * `action_name`, …). `origin` is the flare's, `node` where of the invoker's cluster the pack's slots are,
  * `shared` the container that it has, or makes, for itself and other calls.
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
    timeLeft: FiniteDuration,
    memory: Int,
    autostart: Boolean,
    group: Option[GroupRole] = None,
    egress: Boolean = false,
    environment: Environment = Environment.Empty,
    elsewhere: Int = 0,
    invocation: Environment = Environment.Empty,
    origin: Option[Origin] = None,
    node: Option[String] = None,
    shared: Option[SharedContainer] = None
):
  /** For those who have no use for inputs: they may be large. */
  def withoutInputs: PackAssignment = copy(inputs = Inputs.Hidden)

  def packKey: PackKey = PackKey(flareId, attempt, pack)
  def size: Int = packSizes(pack)
  def firstWorker: Int = packSizes.take(pack).sum
  def workers: Range = firstWorker until firstWorker + size
