package burst.invoker.driver
package docker

import com.github.dockerjava.api.model.HostConfig
import java.nio.file.Files
import java.util.concurrent.{Executors, TimeUnit}
import scala.concurrent.duration.DurationInt
import scala.concurrent.{ExecutionContext, Future}

/** What the kernel holds a container to is what its pack's workers were given, whichever way it came to its
  * pack, and for as long as it has it.
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

  driver.test("cold"): driver =>
    made(driver.start(of(2))).map(container => assertEquals(held(container), share(2)))

  driver.test("pre-warmed, for a larger pack: before its program starts"): driver =>
    for
      blank <- made(driver.prewarm(1, 16))
      adopted <- driver.adopt(blank, of(4)).map(_.get)
    yield assertEquals(held(adopted), share(4))

  driver.test("pre-warmed, for a smaller pack: whether its program says that it is ready or not"): driver =>
    for
      blank <- made(driver.prewarm(8, 16))
      adopted <- driver.adopt(blank, of(1)).map(_.get)
    yield
      val bound = 30.seconds.fromNow
      while held(adopted) != share(1) && bound.hasTimeLeft() do TimeUnit.MILLISECONDS.sleep(20)
      assertEquals(held(adopted), share(1))

  driver.test("warm, of another size, up and down again: also once its program says that it is ready"):
    driver =>
      for
        container <- made(driver.start(of(1)))
        // As a flare does: its pack is resized, then its program says that it is ready.
        sizes <- sequentially(Vector(8, 2, 1, 4)): workers =>
          for
            resized <- driver.resize(container, of(workers))
            _ = assert(resized)
            _ = driver.confine(container)
            // Changes nothing, but waits for what does.
            _ <- driver.throttle(container, workers)
          yield held(container)
      yield assertEquals(sizes, Vector(8, 2, 1, 4).map(share))

  driver.test("a pre-warmed one that was warm and resized"): driver =>
    for
      blank <- made(driver.prewarm(1, 16))
      adopted <- driver.adopt(blank, of(1)).map(_.get)
      _ = driver.confine(adopted)
      _ <- driver.resize(adopted, of(8))
      _ = driver.confine(adopted)
      _ <- driver.throttle(adopted, 8)
    yield assertEquals(held(adopted), share(8))

  driver.test("one whose workers have ended in part, until it is used again"): driver =>
    def cpus(container: Container) = host(container).getNanoCPUs.longValue
    for
      container <- made(driver.start(of(2)))
      whole = cpus(container)
      _ <- driver.throttle(container, 1)
      _ = driver.confine(container)
      _ <- driver.throttle(container, 1)
      part = cpus(container)
      _ <- driver.resize(container, of(2))
    yield
      assertEquals((part, cpus(container)), (1_000_000_000L, whole))
      assertEquals(held(container), share(2))

  private def sequentially[A, B](all: Vector[A])(step: A => Future[B]): Future[Vector[B]] =
    all.foldLeft(Future.successful(Vector.empty[B])): (done, next) =>
      done.flatMap(before => step(next).map(before :+ _))
