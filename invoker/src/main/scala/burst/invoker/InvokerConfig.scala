package burst.invoker

import burst.invoker.driver.{
  DirectoryId,
  DockerSettings,
  KubernetesSettings,
  Mount,
  ProcessSettings,
  UserRange
}
import burst.node.SetupException
import burst.invoker.pack.PackTimings
import burst.invoker.packages.{PackageCacheSettings, UnpackLimits}
import burst.invoker.pool.PoolLimits
import burst.protocol.{InvokerId, RuntimeInfo}
import com.typesafe.config.Config
import java.net.InetAddress
import java.nio.file.{Files, Path}
import scala.concurrent.duration.{DurationLong, FiniteDuration}
import scala.jdk.CollectionConverters.*
import scala.util.Try

/** The settings under `burst.invoker`, read once and checked; `reference.conf` explains each. */
final case class InvokerConfig(
    id: InvokerId,
    data: Path,
    slots: Int,
    driver: String,
    directory: Path,
    runtimeBinary: Path,
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
    connectTimeout: FiniteDuration,
    packages: PackageCacheSettings,
    process: ProcessSettings,
    docker: DockerSettings,
    dockerParallelism: Int,
    kubernetes: KubernetesSettings
):
  /** What its data directory is known by, whose lock says that nobody else has it. */
  def home: String = DirectoryId.in(data)

object InvokerConfig:

  /** Reads the whole configuration; `searchPath` is where a bare name of the runtime is looked up. Throws
    * `SetupException`, or `ConfigException` for a key that is missing or of the wrong type.
    */
  def read(root: Config, searchPath: Option[String] = sys.env.get("PATH")): InvokerConfig =
    val config = root.getConfig("burst.invoker")
    val data = Path.of(root.getString("burst.data"))
    val directory = Path.of(config.getString("directory"))
    val binary = findBinary(config.getString("runtime-binary"), searchPath)
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
      directory = directory,
      runtimeBinary = binary,
      advertise = optional(config, "advertise"),
      memoryLimit = memoryLimit,
      pool = PoolLimits(
        config.getInt("idle-packs"),
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
      connectTimeout = duration(config, "runtime.connect-timeout"),
      packages = packages(config.getConfig("packages"), directory),
      process = process(config.getConfig("process"), binary),
      docker = docker(config.getConfig("docker")),
      dockerParallelism = config.getInt("docker.parallelism"),
      kubernetes = kubernetes(config.getConfig("kubernetes"))
    )

  /** That of the machine, and something that no other invoker has: the same whenever it starts. */
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

  /** Slots come without their memory while a pack runs: where memory is counted they wait for its end. */
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

  private def process(config: Config, binary: Path) = ProcessSettings(
    runtimeBinary = binary,
    environment = config.getStringList("environment").asScala.toVector,
    memoryOverhead = config.getInt("memory-overhead"),
    memoryPerWorker = config.getInt("memory-per-worker"),
    startTimeout = duration(config, "start-timeout"),
    stopGrace = duration(config, "stop-grace")
  )

  private def docker(config: Config) = DockerSettings(
    host = optional(config, "host"),
    image = config.getString("image"),
    network = optional(config, "network"),
    reachable = config.getStringList("reachable").asScala.toVector,
    notInternet = config.getStringList("not-internet").asScala.toVector,
    mounts = config.getStringList("mounts").asScala.toVector.map: text =>
      Mount.parse(text).fold(
        problem => throw SetupException(s"burst.invoker.docker.mounts: $problem."),
        identity
      ),
    cpuFactor = config.getDouble("cpus-per-worker"),
    memoryOverhead = config.getInt("memory-overhead"),
    pids = config.getLong("pids"),
    pidsPerWorker = config.getLong("pids-per-worker"),
    tmpSize = config.getInt("tmp-size"),
    descriptors = config.getLong("descriptors"),
    users = users(config, "docker"),
    group = config.getLong("group"),
    callTimeout = duration(config, "call-timeout"),
    startTimeout = duration(config, "start-timeout")
  )

  private def kubernetes(config: Config) = KubernetesSettings(
    namespace = optional(config, "namespace"),
    pod = optional(config, "pod"),
    image = config.getString("image"),
    runtime = (optional(config, "arch"), optional(config, "glibc")) match
      case (Some(arch), Some(glibc)) => Some(RuntimeInfo(arch, glibc))
      case (None, None) => None
      case _ => throw SetupException("burst.invoker.kubernetes.arch and .glibc: give both, or none.")
    ,
    cpuFactor = config.getDouble("cpus-per-worker"),
    memoryOverhead = config.getInt("memory-overhead"),
    scratchSize = config.getInt("scratch-size"),
    users = users(config, "kubernetes"),
    group = config.getLong("group"),
    callTimeout = duration(config, "call-timeout"),
    startTimeout = duration(config, "start-timeout"),
    stopTimeout = duration(config, "stop-timeout"),
    parallelism = config.getInt("parallelism")
  )

  private def users(config: Config, driver: String): UserRange =
    UserRange.parse(config.getString("users")).fold(
      problem => throw SetupException(s"burst.invoker.$driver.users: $problem."),
      identity
    )

  /** A key that may be left empty. */
  private def optional(config: Config, key: String): Option[String] =
    Some(config.getString(key)).filter(_.nonEmpty)

  private def findBinary(name: String, searchPath: Option[String]): Path =
    val candidates =
      if name.contains('/') then Vector(Path.of(name).toAbsolutePath)
      else searchPath.toVector.flatMap(_.split(':')).filter(_.nonEmpty).map(Path.of(_).resolve(name))
    candidates
      .find(path => Files.isRegularFile(path) && Files.isExecutable(path))
      .getOrElse(
        throw SetupException(
          s"'$name' is not an executable here: run `make build`, or set burst.invoker.runtime-binary to " +
            "where burst-runtime is."
        )
      )

  private def duration(config: Config, key: String): FiniteDuration = config.getDuration(key).toMillis.millis
