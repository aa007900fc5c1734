package burst.invoker.packages

import burst.invoker.metrics.PackageMetrics
import burst.node.metrics.MetricsRegistry
import burst.protocol.*
import java.nio.file.attribute.PosixFilePermission.{GROUP_WRITE, OTHERS_WRITE, OWNER_WRITE}
import java.nio.file.{Files, Path}
import org.apache.pekko.actor.testkit.typed.scaladsl.{ActorTestKit, TestProbe}
import org.apache.pekko.actor.typed.ActorRef
import org.apache.pekko.util.ByteString
import scala.concurrent.duration.{DurationInt, FiniteDuration}
import scala.jdk.CollectionConverters.*
import scala.jdk.StreamConverters.*

class PackageCacheSuite extends munit.FunSuite:
  override def munitTimeout = 3.minutes
  private lazy val kit = ActorTestKit()
  override def afterAll(): Unit = kit.shutdownTestKit()

  private val zip = Zips.of("exec" -> Zips.noise(5000, 1))
  private val zipId = PackageId.of(zip)

  /** A cache on an empty directory; its controller is a probe. */
  private class Setup(
      maxBytes: Long = 1_000_000,
      form: PackageForm = PackageForm.Directory,
      answerTimeout: FiniteDuration = 20.seconds,
      attempts: Int = 2
  ):
    val directory: Path = Files.createTempDirectory("cache").resolve("packages")
    val metrics: MetricsRegistry = MetricsRegistry()
    val controller: TestProbe[PackageRequest] = kit.createTestProbe()
    val requester: TestProbe[Either[Failure, Path]] = kit.createTestProbe()
    private val settings =
      PackageCacheSettings(
        directory,
        maxBytes,
        100_000,
        UnpackLimits(1_000_000, 10),
        answerTimeout,
        attempts
      )
    val cache: ActorRef[PackageCache.Command] =
      kit.spawn(PackageCache(settings, form, controller.ref, PackageMetrics(metrics)))

    def nextRequest(): PackageRequest = controller.receiveMessage()

    /** Answers requests for one package until it is complete, `chunk` bytes at a time. */
    def serve(bytes: Array[Byte], id: PackageId, chunk: Int = 2000): Unit =
      val request = nextRequest()
      val part = ByteString(bytes.slice(request.fetch.offset.toInt, request.fetch.offset.toInt + chunk))
      request.replyTo ! PackageChunk(id, request.fetch.offset, part, bytes.length)
      if request.fetch.offset + part.length < bytes.length then serve(bytes, id, chunk)

    def acquire(id: PackageId): Unit = cache ! PackageCache.Acquire(id, requester.ref)
    def acquired(): Path = requester.receiveMessage().fold(failure => fail(failure.message), identity)
    def refused(): String =
      val failure = requester.receiveMessage().swap.toOption.getOrElse(fail("the package was not refused"))
      assertEquals(failure.kind, FailureKind.StartFailed)
      failure.message
    def names: Set[String] = Files.list(directory).toScala(Vector).map(_.getFileName.toString).toSet

  test("the cache's requests and contents are counted"):
    val setup = Setup()
    setup.acquire(zipId)
    setup.acquire(zipId)
    setup.serve(zip, zipId)
    for _ <- 1 to 2 do setup.acquired()
    setup.acquire(zipId)
    setup.acquired()
    setup.acquire(PackageId.of(Array[Byte](1)))
    val request = setup.nextRequest()
    request.replyTo ! PackageMissing(request.fetch.packageId)
    setup.refused()
    val shown = String(setup.metrics.text(), "UTF-8")
    for line <- Seq(
        """burst_invoker_package_requests_total{outcome="fetched"} 2.0""",
        """burst_invoker_package_requests_total{outcome="hit"} 1.0""",
        """burst_invoker_package_requests_total{outcome="failed"} 1.0""",
        "burst_invoker_packages 1.0",
        // Its contents, and a block each for the file and for its directory.
        "burst_invoker_package_bytes 13192.0"
      )
    do assert(shown.linesIterator.contains(line), s"$line is not in\n$shown")

  test("a package in archive form is kept as uploaded, and evicted when necessary"):
    val setup = Setup(maxBytes = 1000, form = PackageForm.Archive)
    setup.acquire(zipId)
    setup.serve(zip, zipId)
    val path = setup.acquired()
    assertEquals(Files.readAllBytes(path).toVector, zip.toVector)
    setup.cache ! PackageCache.Release(zipId)
    setup.acquire(zipId)
    setup.serve(zip, zipId)
    assertEquals(setup.acquired(), path)

  test("a package is fetched part by part, unpacked, and found again"):
    val setup = Setup()
    setup.acquire(zipId)
    setup.serve(zip, zipId)
    val path = setup.acquired()
    assertEquals(Files.size(path.resolve("exec")), 5000L)
    assertEquals(setup.names, Set(zipId.value))
    setup.acquire(zipId)
    assertEquals(setup.acquired(), path)
    setup.controller.expectNoMessage(50.millis)

  test("nobody can change a package, and its directory can be moved without being root"):
    val setup = Setup(maxBytes = 1000)
    setup.acquire(zipId)
    setup.serve(zip, zipId)
    val path = setup.acquired()
    val writable = Set(OWNER_WRITE, GROUP_WRITE, OTHERS_WRITE)
    def permissions(path: Path) = Files.getPosixFilePermissions(path).asScala.toSet
    for entry <- List(path, path.resolve("exec")) do
      assertEquals(permissions(entry) & writable, Set.empty, entry.toString)
    // Moving a directory requires writing to it, which tests that run as root would not notice.
    val moved = Files.list(setup.directory).toScala(Vector)
    assert(moved.nonEmpty && moved.forall(permissions(_).contains(OWNER_WRITE)), moved.toString)
    setup.cache ! PackageCache.Release(zipId)
    setup.acquire(zipId)
    setup.serve(zip, zipId)
    assertEquals(setup.acquired(), path)

  test("a definition without a package gets an empty one, without asking the controller"):
    val setup = Setup()
    setup.acquire(PackageId.Empty)
    assertEquals(Files.list(setup.acquired()).count(), 0L)
    setup.controller.expectNoMessage(50.millis)

  test("packs that ask at the same time share one fetch"):
    val setup = Setup()
    (1 to 5).foreach(_ => setup.acquire(zipId))
    setup.serve(zip, zipId)
    assertEquals((1 to 5).map(_ => setup.acquired()).toSet.size, 1)
    setup.controller.expectNoMessage(50.millis)

  test("bytes with the wrong hash are never unpacked, and the next request asks again"):
    val setup = Setup()
    val damaged = zip.updated(zip.length / 2, (zip(zip.length / 2) + 1).toByte)
    setup.acquire(zipId)
    setup.serve(damaged, zipId)
    assert(setup.refused().contains("damaged"))
    assertEquals(setup.names, Set.empty[String])
    setup.acquire(zipId)
    setup.serve(zip, zipId)
    setup.acquired()

  test("a failure of this machine is distinguished from a missing package"):
    val setup = Setup()
    // The cache is up, and has made its directory.
    setup.acquire(PackageId.of(Zips.Elf))
    setup.nextRequest().replyTo ! PackageMissing(PackageId.of(Zips.Elf))
    setup.refused()
    Unpacker.delete(setup.directory)
    val _ = Files.write(setup.directory, Array.empty[Byte])
    setup.acquire(zipId)
    def operation = setup.requester.receiveMessage().swap.toOption.flatMap(_.operation)
    assertEquals(operation, Some(Operation.Fetch))
    val other = Setup()
    other.acquire(zipId)
    other.nextRequest().replyTo ! PackageMissing(zipId)
    assertEquals(other.requester.receiveMessage().swap.toOption.flatMap(_.operation), None)

  test("a package that the controller does not have is refused"):
    val setup = Setup()
    setup.acquire(zipId)
    setup.nextRequest().replyTo ! PackageMissing(zipId)
    assert(setup.refused().contains("does not have it"))

  test("a lost answer is requested again, and finally given up"):
    // on a busy machine an answer may be late: then it is requested once more than necessary
    val lost = Setup(answerTimeout = 200.millis, attempts = 1000)
    lost.acquire(zipId)
    val _ = lost.nextRequest()
    lost.serve(zip, zipId)
    lost.acquired()
    val never = Setup(answerTimeout = 200.millis)
    never.acquire(PackageId.of(Zips.Elf))
    assertEquals(Vector(never.nextRequest().fetch.offset, never.nextRequest().fetch.offset), Vector(0L, 0L))
    assert(never.refused().contains("does not answer"))

  test("a duplicate answer is used once"):
    val setup = Setup()
    setup.acquire(zipId)
    val request = setup.nextRequest()
    val first = PackageChunk(zipId, 0, ByteString(zip.take(2000)), zip.length)
    request.replyTo ! first
    request.replyTo ! first
    setup.serve(zip, zipId)
    setup.acquired()

  for (name, total, part) <-
      List(("too large", 100_001L, 10), ("without an end", 10L, 0), ("beyond its end", 5L, 10))
  do
    test(s"a package that is $name is refused immediately"):
      val setup = Setup()
      setup.acquire(zipId)
      setup.nextRequest().replyTo ! PackageChunk(zipId, 0, ByteString(zip.take(part)), total)
      setup.refused()
      setup.controller.expectNoMessage(50.millis)

  test("an archive that cannot be unpacked is refused"):
    val setup = Setup()
    val text = "PK\u0003\u0004 but not a zip".getBytes
    setup.acquire(PackageId.of(text))
    setup.serve(text, PackageId.of(text))
    assert(setup.refused().contains("a damaged zip"))
    assertEquals(setup.names, Set.empty[String])

  test("beyond the limit the least recently used package goes, but never one in use"):
    val setup = Setup(maxBytes = 30_000)
    val zips = (1 to 3).map(seed => Zips.of("exec" -> Zips.noise(5000, seed)))
    val ids = zips.map(PackageId.of)
    for (bytes, id) <- zips.zip(ids) do
      setup.acquire(id)
      setup.serve(bytes, id)
      setup.acquired()
    assertEquals(setup.names, ids.map(_.value).toSet)
    setup.cache ! PackageCache.Release(ids(1))
    // Answered after the release has been handled: the package in use still exists, the other does not.
    setup.acquire(ids(0))
    setup.acquired()
    assert(!setup.names.contains(ids(1).value), setup.names.toString)
    assert(ids.forall(id => id == ids(1) || setup.names.contains(id.value)))
    setup.acquire(ids(1))
    setup.serve(zips(1), ids(1))
    setup.acquired()
