package burst.invoker.driver
package sandbox

import java.nio.file.Files
import java.util.concurrent.Executors
import scala.concurrent.duration.DurationInt
import scala.concurrent.{ExecutionContext, Future}

/** Tests of a driver whose shim is a script. */
abstract class ShimFixtures extends munit.FunSuite:
  override def munitTimeout = 3.minutes
  private val threads = Executors.newCachedThreadPool()
  protected given ExecutionContext = ExecutionContext.fromExecutor(threads)
  protected val packageDir = Files.createTempDirectory("package")
  override def afterAll(): Unit =
    threads.shutdownNow()
    PackageFiles.delete(packageDir)

  protected val Silent = s"${ScriptedShim.Listens}; cat > /dev/null"

  protected def resources(workers: Int) =
    PackResources(workers, memoryMiB = 32, packageDir, ContainerBase.Libraries)

  protected def started(driver: Driver, workers: Int = 1): Future[Container] =
    driver.start(resources(workers)).map(_.fold(failure => fail(failure.message), identity))
