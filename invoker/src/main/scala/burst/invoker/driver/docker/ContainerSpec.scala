package burst.invoker.driver
package docker

import com.github.dockerjava.api.model.{AccessMode, Bind, Capability, HostConfig, LogConfig, Ulimit, Volume}
import java.nio.file.Path
import scala.jdk.CollectionConverters.*

/** How a pack's container is isolated: a pure function from its resources to Docker's parameters. */
private[driver] object ContainerSpec:
  val PackagePath = "/package"

  /** Where the runtime accepts requests. Port 8080 is left to images of users' own. */
  val Port = 8079

  /** The runtime's arguments for serving. */
  private[docker] val Serve = List("serve", "--listen", s"0.0.0.0:$Port", "--keep-open")

  /** Directories that only the pack writes to, and that are emptied between its flares. */
  private val Scratch = List("/tmp", "/dev/shm")

  /** A directory that contains an operator's mount is not emptied. */
  def command(settings: DockerSettings): List[String] =
    val own = Scratch.filterNot(directory =>
      settings.mounts.exists(mount => s"${mount.target}/".startsWith(s"$directory/"))
    )
    Serve ++ own.flatMap(List("--scratch", _))

  /** Limits of each process of a container, or of its user in total (pending signals and message queues).
    * What processes allocate counts as the container's memory; these limits protect what the machine shares.
    */
  private def processLimits(settings: DockerSettings): List[Ulimit] =
    List(
      "nofile" -> settings.descriptors,
      "sigpending" -> 4096L,
      "memlock" -> (64L << 10),
      "msgqueue" -> 0L,
      "core" -> 0L
    )
      .map((name, most) => Ulimit(name, most, most))

  def hostConfig(
      settings: DockerSettings,
      network: String,
      packageDir: Path,
      allowed: ContainerLimits
  ): HostConfig =
    HostConfig
      .newHostConfig()
      .withNanoCPUs(allowed.nanoCpus)
      .withMemory(allowed.memory)
      .withMemorySwap(allowed.memory)
      .withPidsLimit(allowed.pids)
      .withUlimits(processLimits(settings).asJava)
      .withCapDrop(Capability.ALL)
      .withSecurityOpts(List("no-new-privileges").asJava)
      .withReadonlyRootfs(true)
      // A package's code is in /package: nothing needs to be executed from scratch space.
      .withTmpFs(Map("/tmp" -> s"rw,noexec,nosuid,nodev,mode=1777,size=${settings.tmpSize}m").asJava)
      .withLogConfig(LogConfig(LogConfig.LoggingType.NONE)) // workers' lines travel in the pack's events
      .withNetworkMode(network)
      .withBinds(binds(settings, packageDir).asJava)

  private def binds(settings: DockerSettings, packageDir: Path): List[Bind] =
    val operators = settings.mounts.map: mount =>
      val mode = if mount.readOnly then AccessMode.ro else AccessMode.rw
      Bind(mount.source, Volume(mount.target), mode)
    Bind(packageDir.toString, Volume(PackagePath), AccessMode.ro) :: operators.toList
