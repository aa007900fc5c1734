package burst.invoker

import burst.invoker.driver.DirectoryId
import burst.invoker.driver.DriverSettings.duration
import burst.node.{RuntimeBinary, SetupException}
import burst.invoker.metrics.MetricsAddress
import burst.invoker.pack.PackTimings
import burst.invoker.packages.{PackageCacheSettings, UnpackLimits}
import burst.invoker.pool.PoolLimits
import burst.protocol.InvokerId
import com.sun.management.OperatingSystemMXBean
import com.typesafe.config.Config
import java.lang.management.ManagementFactory
import java.net.InetAddress
import java.nio.file.Path
import scala.concurrent.duration.FiniteDuration
import scala.util.Try

/** The settings under `burst.invoker`, read once and checked; `reference.conf` explains each. A driver reads
  * its own settings from `settings`.
  */
final case class InvokerConfig(
    id: InvokerId,
    data: Path,
    slots: Int,
    driver: String,
    settings: Config,
    directory: Path,
    runtimeBinary: Path,
    address: String,
    advertise: Option[String],
    memoryLimit: Option[Long],
    pool: PoolLimits,
    prewarmed: Int,
    prewarmedMemory: Int,
    heartbeatInterval: FiniteDuration,
    cleanupTimeout: FiniteDuration,
    timings: PackTimings,
    maxEvent: Int,
    outputMemory: Long,
    journalMemory: Long,
    connectTimeout: FiniteDuration,
    packages: PackageCacheSettings,
    metrics: Option[MetricsAddress],
    tracedPhases: Int
):
  /** The configuration with the address of packs: the configured one, or this node's for packs that share the
    * machine's.
    */
  def reached(sharesAddress: Boolean): InvokerConfig =
    copy(advertise = advertise.orElse(Option.when(sharesAddress)(address)))

  /** The identity of its data directory, whose lock guarantees that nobody else has it. */
  def home: String = DirectoryId.in(data)

object InvokerConfig:

  /** Reads the whole configuration; `searchPath` is where a bare name of the runtime is looked up. Throws
    * `SetupException`, or `ConfigException` for a key that is missing or of the wrong type.
    */
  def read(root: Config, searchPath: Option[String] = sys.env.get("PATH")): InvokerConfig =
    val config = root.getConfig("burst.invoker")
    val data = Path.of(root.getString("burst.data"))
    val directory = Path.of(config.getString("directory"))
    val binary = RuntimeBinary.find(root, searchPath)
    val memoryLimit = Some(config.getLong("memory-limit")).filter(_ > 0)
    InvokerConfig(
      id = InvokerId(optional(config, "id").fold(ownName(data))(checkedId)),
      data = data,
      slots = config.getInt("slots") match
        case 0 => Runtime.getRuntime.availableProcessors
        case slots if slots > 0 => slots
        case slots => throw SetupException(s"burst.invoker.slots is $slots: give a positive number, or 0.")
      ,
      driver = config.getString("driver"),
      settings = root,
      directory = directory,
      runtimeBinary = binary,
      address = root.getString("burst.cluster.host"),
      advertise = optional(config, "advertise"),
      memoryLimit = memoryLimit,
      pool = PoolLimits(
        PoolLimits.packs(
          config.getString("idle-packs"),
          Option.when(Wiring.kindNamed(config.getString("driver")).forall(_.isLocal))(machineMemory)
        ),
        config.getLong("idle-memory"),
        duration(config, "idle-timeout")
      ),
      prewarmed = config.getInt("prewarmed").max(0),
      prewarmedMemory = config.getInt("prewarmed-memory"),
      heartbeatInterval = duration(config, "heartbeat-interval"),
      cleanupTimeout = duration(config, "cleanup-timeout"),
      timings = timings(config.getConfig("pack"), memoryLimit),
      maxEvent = config.getMemorySize("runtime.max-event").toBytes.toInt,
      outputMemory = config.getMemorySize("runtime.output-memory").toBytes,
      journalMemory = config.getMemorySize("runtime.journal-memory").toBytes,
      connectTimeout = duration(config, "runtime.connect-timeout"),
      packages = packages(config.getConfig("packages"), directory),
      metrics = optional(config, "metrics.host").map(MetricsAddress(_, config.getInt("metrics.port"))),
      tracedPhases = root.getInt("burst.traces.phases")
    )

  /** In MiB; in a container, the container's limit. */
  private def machineMemory: Long = ManagementFactory.getOperatingSystemMXBean match
    case system: OperatingSystemMXBean => system.getTotalMemorySize >> 20
    case _ => 0

  /** The machine's name, and something that no other invoker has: the same at every start. */
  private def ownName(data: Path): String =
    val host = Try(InetAddress.getLocalHost.getHostName).getOrElse("").takeWhile(_ != '.')
    val plain = host.filter(c => c.isLetterOrDigit && c < 128 || c == '-').take(32)
    s"${if plain.isEmpty then "invoker" else plain}-${DirectoryId.in(data).take(6)}"

  private def checkedId(id: String): String =
    if id.matches("[A-Za-z0-9._-]{1,64}") then id
    else
      throw SetupException(
        s"burst.invoker.id is '$id': give up to 64 letters, digits, dashes, dots or underscores."
      )

  /** A running pack returns slots without their memory: if memory is counted they wait for the pack's end. */
  private def timings(config: Config, memoryLimit: Option[Long]) = PackTimings(
    init = duration(config, "init-timeout"),
    abort = duration(config, "abort-timeout"),
    deadlineSlack = duration(config, "deadline-slack"),
    settle = duration(config, "settle-timeout"),
    slotReturn = Option.when(memoryLimit.isEmpty)(duration(config, "slot-return-delay"))
  )

  private def packages(config: Config, directory: Path) = PackageCacheSettings(
    directory = directory.resolve("packages"),
    maxBytes = config.getMemorySize("cache-size").toBytes,
    packageBytes = config.getMemorySize("max-package").toBytes,
    unpacked = UnpackLimits(config.getMemorySize("max-unpacked").toBytes, config.getInt("max-entries")),
    answerTimeout = duration(config, "answer-timeout"),
    attempts = config.getInt("attempts")
  )

  /** A key that may be left empty. */
  private def optional(config: Config, key: String): Option[String] =
    Some(config.getString(key)).filter(_.nonEmpty)
