package burst.controller.scheduler

import burst.controller.definition.FlareTerms
import burst.controller.blob.DirectoryFlareBlobStore
import burst.controller.flare.{FlareRequest, LogText, Output}
import burst.controller.limits.NamespaceLimits
import burst.controller.placement.{DefaultGranularity, PackCosts, Packing}
import burst.node.{FairSemaphore, MonotonicTime}
import burst.protocol.{DefinitionRef, Inputs, JsonText, PackageId}
import java.nio.file.{Files, Path}
import java.util.Comparator
import scala.concurrent.duration.{Duration, DurationInt, FiniteDuration}

/** Requests and settings for tests. */
object Samples:
  val apiHost = "https://burst.example.org"
  val packageId: PackageId = PackageId.of(Array[Byte](1, 2, 3))

  /** A directory for what tests store, removed when the process ends. */
  private lazy val directory: Path =
    val made = Files.createTempDirectory("burst-scheduler")
    Runtime.getRuntime.addShutdownHook(Thread { () =>
      Files.walk(made).sorted(Comparator.reverseOrder).forEach(path => Files.deleteIfExists(path))
    })
    made

  lazy val blobs: DirectoryFlareBlobStore = DirectoryFlareBlobStore.open(directory.resolve("flares"))
  lazy val spool: Spool = Spool.open(directory.resolve("spool"), blobs)

  def inputMemory: FairSemaphore = FairSemaphore(1L << 20)

  def output(text: String): Output = Output.Inline(JsonText(text))

  def request(
      size: Int,
      namespace: String = "guest",
      granularity: Option[Int] = None,
      packing: Packing = Packing.Mixed,
      retries: Int = 0,
      backend: String = "direct",
      timeout: FiniteDuration = 60.seconds
  ): FlareRequest = FlareRequest(
    DefinitionRef(namespace, "hello", "0.0.1", packageId),
    size,
    Inputs.Each(Vector.tabulate(size)(i => JsonText(i.toString))),
    FlareTerms(granularity, packing, backend, chunkSize = Some(1024), timeout, memory = 64, retries)
  )

  /** A walltime without any prediction. */
  val walltime: Walltime = Walltime(
    request(1).definition,
    since = MonotonicTime.Zero,
    expected = MonotonicTime.Never,
    latest = MonotonicTime.Never
  )

  val limits: NamespaceLimits =
    NamespaceLimits(100, 100, 1024, 1 << 20, 1000, 100, 1 << 26, 1 << 30, 1000, 1000, 600, 60000, 500, false)

  val settings: SchedulerSettings = SchedulerSettings(
    DefaultGranularity.Cheapest(PackCosts.Measured),
    maxCpuLoad = 0.9,
    quarantineFirst = 1.second,
    quarantineLongest = 8.seconds,
    queueLimit = 10,
    namespaceQueueLimit = 8,
    overtaking = 10.seconds,
    startInterval = 1.milli,
    localityWait = 0.millis,
    backfillDepth = 100,
    queueDeadline = 10.minutes,
    startDeadline = 30.seconds,
    peerGrace = 300.millis,
    abortDeadline = 10.seconds,
    lossDeadline = 35.seconds,
    cleanupDeadline = 2.seconds,
    progressInterval = 100.millis,
    logBuffer = 100 * (LogText.LineCost + 8),
    namespaceLogRate = 1 << 20,
    namespaceLogBurst = 1 << 20,
    phaseBuffer = 100,
    outputLimit = 1L << 20,
    inputMemory = 1L << 20,
    storeDeadline = 300.millis,
    storeRetryPause = 200.millis,
    forecastLifetime = Duration.Zero,
    askTimeout = 5.seconds,
    limitsRefresh = 10.seconds
  )

  val backends: BackendCatalog = BackendCatalog(
    "direct",
    Map(
      "direct" -> BackendCatalog.Entry("direct", None, keepsNothing = true),
      "redis" -> BackendCatalog.Entry("redis-list", Some("redis://:secret@host"), keepsNothing = false)
    )
  )
