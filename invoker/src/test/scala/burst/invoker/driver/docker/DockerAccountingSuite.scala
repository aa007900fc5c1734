package burst.invoker.driver
package docker

import com.github.dockerjava.api.model.HostConfig
import java.nio.file.Files
import java.util.concurrent.{Executors, TimeUnit}
import scala.concurrent.duration.DurationInt
import scala.concurrent.{ExecutionContext, Future}

/** The kernel's limits of a container match its pack's workers, however the container got its pack, and
  * throughout the pack's life.
  */
class DockerAccountingSuite extends munit.FunSuite:
  override def munitTimeout = 2.minutes

  private val threads = Executors.newCachedThreadPool()
  private given ExecutionContext = ExecutionContext.fromExecutor(threads)
  private val directory = Files.createTempDirectory("burst-accounting")
  private val packageDir = Files.createDirectory(directory.resolve("package"))
  private val settings = DockerPrerequisites.settings.copy(network = Some("bridge"))

  private lazy val observer = DockerPrerequisites.daemon(settings).calls

  override def afterAll(): Unit =
    observer.close()
    threads.shutdownNow()
    PackageFiles.delete(directory)

  private val driver = FunFixture[DockerDriver](
    _ =>
      val owner = DirectoryId.in(Files.createTempDirectory(directory, "data"))
      DockerDriver(
        settings,
        owner,
        DockerPrerequisites.daemon(settings),
        DockerPrerequisites.files(directory),
        directory.resolve(owner),
        directory.resolve(owner).resolve("pulled-images.json"),
        8,
        BackendServers(_ => Vector.empty),
        summon
      )
    ,
    driver => scala.concurrent.Await.result(driver.close(), 60.seconds)
  )

  private def of(workers: Int): PackResources =
    PackResources(workers, memoryMiB = 16, packageDir, ContainerBase.Libraries)

  private def host(container: Container): HostConfig =
    observer.inspectContainerCmd(container.id).exec().getHostConfig

  private def held(container: Container): (Long, Long) =
    val shown = host(container)
    (shown.getMemory.longValue, shown.getPidsLimit.longValue)

  private def share(workers: Int): (Long, Long) =
    val limits = settings.limits.of(machineCpus = 64, workers, memoryMiB = 16)
    (limits.memory, limits.pids)

  private def made[A](outcome: Future[Either[?, A]]): Future[A] =
    outcome.map(_.fold(problem => fail(problem.toString), identity))

  driver.test("a cold container has its pack's limits"): driver =>
    made(driver.start(of(2))).map(container => assertEquals(held(container), share(2)))

  driver.test("a pre-warmed container has a larger pack's limits before its program starts"): driver =>
    for
      blank <- made(driver.prewarm(1, 16))
      adopted <- driver.adopt(blank, of(4)).map(_.get)
    yield assertEquals(held(adopted), share(4))

  driver.test("a pre-warmed container has a smaller pack's limits, program ready or not"): driver =>
    for
      blank <- made(driver.prewarm(8, 16))
      adopted <- driver.adopt(blank, of(1)).map(_.get)
    yield
      val bound = 30.seconds.fromNow
      while held(adopted) != share(1) && bound.hasTimeLeft() do TimeUnit.MILLISECONDS.sleep(20)
      assertEquals(held(adopted), share(1))

  driver.test("a warm container follows its pack's size up and down, also once its program reports ready"):
    driver =>
      for
        container <- made(driver.start(of(1)))
        // As for a flare: its pack is resized, then its program reports ready.
        sizes <- sequentially(Vector(8, 2, 1, 4)): workers =>
          for
            resized <- driver.resize(container, of(workers))
            _ = assert(resized)
            _ = driver.confine(container)
            // Changes nothing, but waits for pending changes.
            _ <- driver.throttle(container, workers)
          yield held(container)
      yield assertEquals(sizes, Vector(8, 2, 1, 4).map(share))

  driver.test("a pre-warmed container that was warm and resized has the new limits"): driver =>
    for
      blank <- made(driver.prewarm(1, 16))
      adopted <- driver.adopt(blank, of(1)).map(_.get)
      _ = driver.confine(adopted)
      _ <- driver.resize(adopted, of(8))
      _ = driver.confine(adopted)
      _ <- driver.throttle(adopted, 8)
    yield assertEquals(held(adopted), share(8))

  driver.test("a container with some workers ended has lower limits until it is used again"): driver =>
    def cpus(container: Container) = host(container).getNanoCPUs.longValue
    for
      container <- made(driver.start(of(2)))
      before = cpus(container)
      _ <- driver.throttle(container, 1)
      _ = driver.confine(container)
      _ <- driver.throttle(container, 1)
      throttled = cpus(container)
      _ <- driver.resize(container, of(2))
    yield
      assertEquals((throttled, cpus(container)), (1_000_000_000L, before))
      assertEquals(held(container), share(2))

  private def sequentially[A, B](all: Vector[A])(step: A => Future[B]): Future[Vector[B]] =
    all.foldLeft(Future.successful(Vector.empty[B])): (done, next) =>
      done.flatMap(before => step(next).map(before :+ _))
