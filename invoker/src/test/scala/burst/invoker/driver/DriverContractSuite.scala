package burst.invoker.driver

import burst.invoker.packages.PackageForm
import burst.invoker.runtime.{FreshProgram, RuntimeClient}
import burst.protocol.*
import java.net.{InetSocketAddress, Socket}
import java.nio.file.{Files, Path}
import java.util.concurrent.Executors
import java.util.concurrent.atomic.AtomicReference
import org.apache.pekko.actor.testkit.typed.scaladsl.ActorTestKit
import scala.concurrent.duration.DurationInt
import scala.concurrent.{Await, ExecutionContext, Future}
import scala.util.Using

/** What every driver must do according to `Driver`, with one subclass per driver. */
abstract class DriverContractSuite extends munit.FunSuite:
  override def munitTimeout = 15.minutes

  private val threads = Executors.newCachedThreadPool()
  protected given blocking: ExecutionContext = ExecutionContext.fromExecutor(threads)

  /** The directory in which the suite makes everything. */
  protected def parent: Path = Path.of(System.getProperty("java.io.tmpdir"))

  // Lazy, as suites are created more often than run.
  protected lazy val directory: Path = Files.createTempDirectory(parent, "burst-driver")
  protected lazy val packageDir: Path = Files.createDirectory(directory.resolve("package"))

  /** The owner of containers and rules, as an invoker has one: remains of earlier runs are found by it. */
  protected def newOwner(): String = DirectoryId.in(Files.createTempDirectory(directory, "data"))

  /** A separate driver, whose containers no other driver takes for its own. */
  protected def newDriver(): Driver

  /** A driver whose containers cannot come up. */
  protected def brokenDriver(): Driver

  /** Ends the container's runtime from outside, as a crash would. */
  protected def kill(container: Container): Unit

  /** Whether the container, or any process of it, runs. */
  protected def runs(container: Container): Boolean

  /** Whether anything of the container is left on the machine. */
  protected def exists(container: Container): Boolean

  /** Releases the suite's own resources once no driver needs them. */
  protected def release(): Unit = ()

  private lazy val driver = newDriver()
  private lazy val actors = ActorTestKit()
  private lazy val runtime =
    RuntimeClient(maxLine = 100_000, connectTimeout = 10.seconds, startTimeout = 60.seconds)(using
      actors.system
    )

  override def afterAll(): Unit =
    Await.result(driver.close(), 60.seconds)
    release()
    actors.shutdownTestKit()
    threads.shutdownNow()
    PackageFiles.delete(directory)

  protected def resources(workers: Int): PackResources =
    PackResources(workers, memoryMiB = 32, packageDir, ContainerBase.Libraries)

  protected def started(driver: Driver, workers: Int = 1): Future[Container] =
    driver.start(resources(workers)).map(_.fold(failure => fail(failure.message), identity))

  protected def connects(container: Container): Boolean =
    val address = InetSocketAddress(container.address.host, container.address.port)
    Using(Socket())(_.connect(address, 1000)).isSuccess

  /** Stops the container. On a busy machine the driver may first report that this takes long; the container
    * is then removed later.
    */
  protected def stopCompletely(driver: Driver, container: Container): Future[Unit] =
    driver.stop(container).flatMap:
      case StopOutcome.Stopped => Future.unit
      case StopOutcome.NotStopped(reason, stopped) =>
        if stopped eq Future.never then fail(reason) else stopped

  test("a started container listens, and a stopped one is removed"):
    for
      container <- started(driver)
      _ = assert(connects(container))
      _ = assert(exists(container) && runs(container))
      _ = assert(!container.exit.isCompleted)
      _ <- stopCompletely(driver, container)
      _ = assert(!runs(container))
      _ <- container.exit
    yield assert(!connects(container))

  test("stopping again, or several times at once, is the same as stopping once"):
    for
      container <- started(driver)
      _ <- Future.sequence(Vector.fill(3)(stopCompletely(driver, container)))
      again <- driver.stop(container)
    yield assertEquals(again, StopOutcome.Stopped)

  test("containers started together are independent of each other"):
    for
      all <- Future.sequence(Vector.fill(4)(started(driver)))
      _ = assertEquals(all.map(_.address).toSet.size, 4)
      _ <- Future.sequence(all.take(2).map(driver.stop))
      _ = assertEquals(all.map(connects), Vector(false, false, true, true))
      _ <- Future.sequence(all.drop(2).map(driver.stop))
    yield ()

  test("the end of a container that dies by itself is reported, and it can still be stopped"):
    for
      container <- started(driver)
      _ = kill(container)
      exit <- container.exit
      _ = assert(!exit.oomKilled)
      _ <- stopCompletely(driver, container)
    yield assert(!runs(container))

  test("a container that cannot start is a failure with a reason"):
    val broken = brokenDriver()
    for
      outcome <- broken.start(resources(1))
      _ <- broken.close()
    yield
      val failure = outcome.swap.toOption.getOrElse(fail("the container started"))
      assertEquals(failure.kind, FailureKind.StartFailed)
      assert(failure.message.nonEmpty)

  test("an idle container fits another number of workers after it was resized"):
    for
      container <- started(driver)
      larger <- driver.resize(container, resources(4))
      smaller <- driver.resize(container, resources(2))
      _ = assert(larger && smaller)
      _ = assert(connects(container))
      _ <- driver.stop(container)
    yield ()

  test("a pre-warmed container listens, and once adopted it is like any other"):
    for
      blank <- driver.prewarm(2, 16).map(_.fold(failure => fail(failure.message), identity))
      _ = assert(connects(blank))
      adopted <- driver.adopt(blank, resources(2)).map(_.getOrElse(fail("not adopted")))
      _ = assert(connects(adopted))
      throttled <- driver.throttle(adopted, 1)
      _ = assert(throttled)
      _ <- stopCompletely(driver, adopted)
      _ = assert(!runs(adopted))
      _ <- adopted.exit
      dead <- driver.adopt(blank, resources(2))
    yield assertEquals(dead.map(_.id), None)

  test("a container is let through to the internet, if its namespace may, for each of its flares"):
    val access =
      NetworkAccess(FlareId.random(), packs = 1, BackendConfig("direct", None, None), egress = true)
    for
      container <- started(driver)
      first <- driver.connect(container, access)
      _ = driver.disconnect(container)
      second <- driver.connect(container, access)
      _ = assertEquals((first, second), (Right(()), Right(())))
      _ = assert(connects(container))
      _ <- driver.stop(container)
    yield ()

  test("a container without other machines is found, and finds others, at the given endpoints"):
    val endpoints = Vector(Some("10.0.0.1:4000"), None)
    for
      container <- started(driver)
      published = driver.publish(container, "10.0.0.1:4000")
      found <- driver.find(container, endpoints)
      _ <- driver.stop(container)
    yield assertEquals((published, found), ("10.0.0.1:4000", Right(endpoints)))

  test("a closed driver leaves nothing of what it has started, stopped or not"):
    val own = newDriver()
    for
      packs <- Future.sequence(Vector.fill(2)(started(own)))
      blank <- own.prewarm(2, 16)
      containers = packs ++ blank.toOption
      _ = assertEquals(containers.size, 3)
      _ <- own.stop(containers.head)
      _ <- own.close()
    yield assertEquals(containers.filter(exists), Vector.empty)

  for
    (kind, source) <- List(
      "python:3" -> "def main(args): return {'twice': 2 * args['x']}",
      "nodejs:20" -> "const main = async ({ x }) => ({ twice: 2 * x });"
    )
    workers <- List(1, 4)
  do
    test(s"a function of the kind $kind runs with $workers workers"):
      val form = driver.packageForm
      val path = packageOf(s"$kind-$workers", source)
      for
        container <- driver.start(PackResources(workers, memoryMiB = 128, path, ContainerBase.Interpreters))
          .map(_.fold(failure => fail(failure.message), identity))
        program = FreshProgram(container.source, kind = kind)
        first <- outputs(container, workers, Some(program))
        again <- outputs(container, workers, None)
        _ <- driver.stop(container)
      yield assertEquals((first, again), (expected(workers), expected(workers)), form.toString)

    test(s"a function of the kind $kind runs with $workers workers in an interpreter started in advance"):
      val needed =
        PackResources(workers, 128, packageOf(s"$kind-waited-$workers", source), ContainerBase.Interpreters)
      for
        blank <- driver.prewarm(workers, 128).map(_.fold(failure => fail(failure.message), identity))
        begun <- runtime.startInterpreter(blank.address, kind)
        _ = assertEquals(begun, Right(()))
        container <- driver.adopt(blank, needed).map(_.getOrElse(fail("not adopted")))
        output <- outputs(container, workers, Some(FreshProgram(container.source, kind = kind)))
        _ <- driver.stop(container)
      yield assertEquals(output, expected(workers))

  private def expected(workers: Int) =
    (0 until workers).map(worker => s"""{"twice":${2 * worker}}""").toVector

  /** A source file as a package in the driver's form. */
  private def packageOf(name: String, source: String): Path =
    val target = Files.createDirectory(directory.resolve(name.replace(':', '-')))
    val file = Files.writeString(target.resolve("source"), source)
    Files.setPosixFilePermissions(target, PackageFiles.Readable)
    Files.setPosixFilePermissions(file, PackageFiles.Readable)
    if driver.packageForm == PackageForm.Directory then target else file

  private def outputs(
      container: Container,
      workers: Int,
      program: Option[FreshProgram]
  ): Future[Vector[String]] =
    val pack = RunPack(
      FlareId.random(),
      PackId(0),
      Vector(workers),
      Inputs.Each((0 until workers).map(worker => JsonText(s"""{"x":$worker}""")).toVector),
      BackendConfig("direct", None, None),
      Secret.random(),
      container.address.host,
      Timestamp.now() + 1.minute,
      None,
      autostart = true,
      None,
      None,
      Environment.Empty
    )
    for
      answer <- runtime.run(container.address, pack, program)
      events = answer.fold(refusal => fail(refusal.toString), identity)
      received = AtomicReference(Vector.empty[PackEvent])
      _ <- events.foreach(batch => Future.successful(received.updateAndGet(_ ++ batch)).map(_ => ()))
      all = received.get
    yield
      assert(
        all.lastOption.exists { case PackEvent.PackEnded(true, None, _, _) => true; case _ => false },
        all
      )
      all.collect { case PackEvent.WorkerSucceeded(worker, output, _) => worker -> output }
        .sortBy(_._1).map(_._2).toVector
