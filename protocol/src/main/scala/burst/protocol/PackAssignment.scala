package burst.protocol

import io.circe.Codec
import io.circe.derivation.{Configuration, ConfiguredCodec}
import scala.concurrent.duration.FiniteDuration

/** The role of a flare in a group. The group itself is a flare whose packs come up and then wait for flares
  * to run on them (`Holder`), but for no longer than `idleTimeout`; those flares are its members.
  * Distinguished by `role` on the wire.
  */
enum GroupRole:
  case Holder(idleTimeout: FiniteDuration)
  case Member(group: FlareId)

object GroupRole:
  given Configuration = Configuration.default.withDiscriminator("role").withKebabCaseConstructorNames
  private given Codec[FiniteDuration] = Durations.inMillis
  given ConfiguredCodec[GroupRole] = ConfiguredCodec.derived

/** A container in which calls of one action run at the same time, named by the call that first asked for it.
  * It keeps the one slot reserved for that call until the last of them has ended.
  */
final case class SharedContainer(flareId: FlareId, attempt: Int) derives Codec.AsObject

/** One pack of a flare, as the scheduler assigned it to an invoker. `memory` is in MiB per worker. `timeLeft`
  * is how long it may run: a duration, not a time of day, as clocks of machines differ. `attempt`
  * distinguishes the attempts of one flare: reports of an older one are ignored. With `egress` its workers
  * may reach the internet, if the driver can keep others from it. `environment` is the program's: a member of
  * a group has its group's. `elsewhere` is how many of the flare's packs are on other invokers. `invocation`
  * is what an OpenWhisk function learns about this run, by the names that OpenWhisk's runtimes use
  * (`activation_id`, `action_name`, …). `origin` is the flare's, `node` the node of the invoker's cluster on
  * which the pack's slots are, `shared` the container that it uses, or creates, together with other calls.
  */
final case class PackAssignment(
    flareId: FlareId,
    attempt: Int,
    definition: DefinitionRef,
    pack: PackId,
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
  /** For those who do not need the inputs, which may be large. */
  def withoutInputs: PackAssignment = copy(inputs = Inputs.Hidden)

  def packKey: PackKey = PackKey(flareId, attempt, pack)
  def size: Int = packSizes(pack)
  def firstWorker: Int = packSizes.take(pack).sum
  def workers: Range = firstWorker until firstWorker + size
