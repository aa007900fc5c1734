package burst.invoker.driver
package sandbox

import burst.node.{RuntimeBinary, Sandboxing, SetupException}
import burst.protocol.RuntimeInfo
import java.nio.file.{Files, Path}

object SandboxKind extends DriverKind:
  val name = "sandbox"
  override val sharesAddress = true

  def connect(settings: DriverSettings, host: DriverHost): ConnectedDriver =
    val own = SandboxSettings.read(settings)
    val binary = RuntimeBinary(host.runtimeBinary)
    val limits = binary.sandboxing() match
      case Sandboxing.Possible(limits) => limits
      case Sandboxing.Impossible(reason) =>
        throw SetupException(
          s"packs cannot be isolated here: $reason; or set burst.invoker.driver = process."
        )
    val root = SandboxRoot.of(own, binary, host.directory.resolve("roots"))
    val driver = SandboxDriver(
      own.copy(root = root.map(_.directory.toString)),
      host.runtimeBinary,
      DirectoryId.in(host.directory),
      host.directory.resolve("sandbox"),
      limits,
      host.slots,
      Option.when(isRoot)(own.users),
      host.advertise.getOrElse(Loopback),
      BackendServers(binary.servers),
      host.blocking
    )
    val machine = binary.describe()
    val glibc = root.flatMap(_.glibc).orElse(own.glibc)
    ConnectedDriver(driver, glibc.fold(machine)(RuntimeInfo(machine.arch, _)))

  /** As with processes, packs of other machines need another address. */
  private val Loopback = "127.0.0.1"

  /** Only root with all its capabilities can give packs users of their own. */
  private def isRoot: Boolean =
    val status = Files.readString(Path.of("/proc/self/status"))
    def field(name: String) = status.linesIterator.collectFirst:
      case line if line.startsWith(name) => line.drop(name.length).trim.split("\\s+")
    val effective = field("Uid:").exists(_.lift(1).contains("0"))
    val rights = field("CapEff:").flatMap(_.headOption).fold(0L)(java.lang.Long.parseUnsignedLong(_, 16))
    effective && (rights >> SysAdmin & 1) == 1

  private val SysAdmin = 21
