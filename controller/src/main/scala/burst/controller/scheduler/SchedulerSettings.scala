package burst.controller.scheduler

import burst.controller.flare.FlareRequest
import burst.controller.placement.{DefaultGranularity, PackCosts}
import burst.node.SetupException
import burst.protocol.BackendConfig
import com.typesafe.config.Config
import java.nio.file.{Files, Path}
import scala.concurrent.duration.{DurationInt, DurationLong, FiniteDuration}
import scala.jdk.CollectionConverters.*
import scala.util.Try

/** `burst.scheduler`; `scheduler.conf` explains each key. */
final case class SchedulerSettings(
    defaultGranularity: DefaultGranularity,
    maxCpuLoad: Double,
    quarantineFirst: FiniteDuration,
    quarantineLongest: FiniteDuration,
    queueLimit: Int,
    namespaceQueueLimit: Int,
    overtaking: FiniteDuration,
    startInterval: FiniteDuration,
    localityWait: FiniteDuration,
    backfillDepth: Int,
    queueDeadline: FiniteDuration,
    startDeadline: FiniteDuration,
    peerGrace: FiniteDuration,
    abortDeadline: FiniteDuration,
    lossDeadline: FiniteDuration,
    cleanupDeadline: FiniteDuration,
    progressInterval: FiniteDuration,
    logBuffer: Long,
    namespaceLogRate: Long,
    namespaceLogBurst: Long,
    phaseBuffer: Int,
    outputLimit: Long,
    inputMemory: Long,
    storeDeadline: FiniteDuration,
    storeRetryPause: FiniteDuration,
    forecastLifetime: FiniteDuration,
    askTimeout: FiniteDuration,
    limitsRefresh: FiniteDuration
):
  /** The duration of a flare's timer. */
  def durationOf(timer: FlareTimer, request: FlareRequest): FiniteDuration = timer match
    case FlareTimer.Queue | FlareTimer.Inputs => queueDeadline
    case FlareTimer.Start => startDeadline
    case FlareTimer.Deadline => request.idleTimeout.getOrElse(request.timeout)
    case FlareTimer.PeerGrace => peerGrace
    case FlareTimer.Abort => abortDeadline
    case FlareTimer.Loss => lossDeadline
    case FlareTimer.Clean => cleanupDeadline

  /** The part of the settings that a flare's state machine needs. */
  def terms(cleans: Boolean): FlareLifecycle.Terms = FlareLifecycle.Terms(
    cleans,
    queueLimit = queueDeadline.toCoarsest.toString,
    startLimit = startDeadline.toCoarsest.toString,
    abortLimit = abortDeadline.toCoarsest.toString,
    cleanLimit = cleanupDeadline.toCoarsest.toString,
    lateCleanLimit = (cleanupDeadline + lossDeadline).toCoarsest.toString,
    outputLimit
  )

object SchedulerSettings:
  /** Reads the section `burst.scheduler` of a configuration. Throws `SetupException`. */
  def from(root: Config): SchedulerSettings =
    val config = root.getConfig("burst.scheduler")
    def duration(key: String): FiniteDuration = config.getDuration(key).toNanos.nanos
    SchedulerSettings(
      defaultGranularity = granularity(
        config.getString("default-granularity"),
        PackCosts(start = duration("pack-start-cost"), leftover = duration("leftover-slot-cost"))
      ),
      maxCpuLoad = config.getDouble("max-cpu-load"),
      quarantineFirst = duration("quarantine.first"),
      quarantineLongest = duration("quarantine.longest"),
      queueLimit = config.getInt("queue-limit"),
      namespaceQueueLimit = config.getInt("namespace-queue-limit"),
      overtaking = duration("overtaking"),
      startInterval = duration("start-pace"),
      localityWait = duration("locality-wait"),
      backfillDepth = config.getInt("backfill-depth"),
      queueDeadline = duration("queue-deadline"),
      startDeadline = duration("start-deadline"),
      peerGrace = duration("peer-grace"),
      abortDeadline = duration("abort-deadline"),
      lossDeadline = silence(root.getConfig("burst.invokers")).max(CleanUp) + LossMargin,
      cleanupDeadline = duration("cleanup-deadline"),
      progressInterval = duration("progress-interval"),
      logBuffer = config.getBytes("log-buffer"),
      namespaceLogRate = config.getBytes("namespace-log-rate"),
      namespaceLogBurst = config.getBytes("namespace-log-burst"),
      phaseBuffer = config.getInt("phase-buffer"),
      outputLimit = config.getBytes("output-limit"),
      inputMemory = Math.min(config.getBytes("input-memory"), Runtime.getRuntime.maxMemory / 8),
      storeDeadline = duration("store-deadline"),
      storeRetryPause = duration("store-retry-pause"),
      forecastLifetime = duration("forecast-lifetime"),
      askTimeout = duration("ask-timeout"),
      limitsRefresh = duration("limits-refresh")
    )

  /** How long a machine may be silent before its packs are known to be dead. */
  private def silence(invokers: Config): FiniteDuration =
    Seq("contact-timeout", "kill-timeout").map(invokers.getDuration(_).toNanos.nanos).reduce(_ + _)

  /** How long an invoker may take to clean up, which a retry waits for as well: the default of
    * `burst.invoker.cleanup-timeout`. The settings on the invokers' machines are not known here.
    */
  private val CleanUp = 30.seconds

  /** The time it may take until the waiting flares are notified. */
  private val LossMargin = 5.seconds

  private def granularity(text: String, costs: PackCosts): DefaultGranularity =
    if text == "cheapest" then DefaultGranularity.Cheapest(costs)
    else
      Try(text.toInt).toOption.filter(_ > 0).map(DefaultGranularity.Fixed(_)).getOrElse {
        throw SetupException(
          s"burst.scheduler.default-granularity is '$text': give \"cheapest\" or a positive number."
        )
      }

/** The backends the operator configured, by the names flares use. An address may contain credentials: it is
  * never printed.
  */
final class BackendCatalog(val default: String, backends: Map[String, BackendCatalog.Entry]):
  if !backends.contains(default) then
    throw SetupException(
      s"burst.default-backend is '$default', which is not under burst.backends: give one of " +
        s"${names.mkString(", ")}, or add it there."
    )

  def names: Vector[String] = backends.keys.toVector.sorted

  /** The configuration of a backend for packs; nothing if no backend has that name (any more). */
  def find(name: String, chunkSize: Option[Int]): Option[BackendConfig] =
    backends.get(name).map: entry =>
      BackendConfig(entry.kind, entry.uri, chunkSize, entry.ca, entry.sharedCredentials)

  /** Whether a flare may leave data there. */
  def needsCleaning(name: String): Boolean = backends.get(name).exists(!_.keepsNothing)

object BackendCatalog:
  final case class Entry(
      kind: String,
      uri: Option[String],
      keepsNothing: Boolean,
      ca: Option[String] = None,
      sharedCredentials: Boolean = false
  ):
    override def toString: String = s"Entry($kind)"

  /** Always available. No flare leaves data in it. */
  private val Direct = "direct" -> Entry("direct", uri = None, keepsNothing = true)

  /** Reads `burst.backends` and `burst.default-backend`. Throws `SetupException`. */
  def from(root: Config): BackendCatalog =
    val section = root.getConfig("burst.backends")
    val entries = section.root.keySet.asScala.map { name =>
      val entry = section.getConfig(s"\"$name\"")
      val uri = if entry.hasPath("uri") then Some(entry.getString("uri")).filter(_.nonEmpty) else None
      name -> Entry(
        entry.getString("kind"),
        uri,
        entry.hasPath("keeps-nothing") && entry.getBoolean("keeps-nothing"),
        if entry.hasPath("ca") then Some(certificates(name, entry.getString("ca"))) else None,
        entry.hasPath("shared-credentials") && entry.getBoolean("shared-credentials")
      )
    }.toMap
    BackendCatalog(root.getString("burst.default-backend"), Map(Direct) ++ entries)

  private def certificates(backend: String, file: String): String =
    Try(Files.readString(Path.of(file))).getOrElse {
      throw SetupException(s"burst.backends.$backend.ca is '$file', which cannot be read.")
    }
