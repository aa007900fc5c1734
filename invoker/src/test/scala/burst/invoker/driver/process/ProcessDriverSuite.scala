package burst.invoker.driver
package process

import java.nio.file.attribute.PosixFilePermissions
import java.nio.file.{Files, Path}
import scala.concurrent.Future
import scala.concurrent.duration.DurationInt
import scala.jdk.OptionConverters.*

class ProcessDriverSuite extends DriverContractSuite:
  private val settings = ProcessSettings(
    Prerequisites.runtimeBinary,
    environment = Vector("PATH"),
    ProgramMemory(overhead = 64, perWorker = 16),
    startTimeout = 60.seconds,
    stopGrace = 250.millis
  )

  protected def newDriver(): Driver = ProcessDriver(settings, blocking)
  protected def brokenDriver(): Driver = driverOf("echo out of order; exit 3")

  protected def kill(container: Container): Unit =
    handle(container.id).foreach(_.destroyForcibly())

  protected def runs(container: Container): Boolean = exists(container)
  protected def exists(container: Container): Boolean = handle(container.id).exists(_.isAlive)

  private def handle(pid: String) = ProcessHandle.of(pid.toLong).toScala

  private lazy val scripts = Files.createTempDirectory("burst-runtimes")

  /** A driver whose runtime is a shell script. */
  private def driverOf(script: String, startTimeout: Int = 60_000): Driver =
    val file = Files.createTempFile(scripts, "runtime", ".sh")
    Files.writeString(file, s"#!/bin/sh\n$script\n")
    Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rwxr-xr-x"))
    ProcessDriver(settings.copy(runtimeBinary = file, startTimeout = startTimeout.millis), blocking)

  /** Whether the process has ended, even if it was not reaped: a container's first process may not do that.
    */
  private def isEnded(pid: String): Boolean =
    !handle(pid).exists(_.isAlive) || Seq(
      ") Z ",
      ") X "
    ).exists(contents(Path.of(s"/proc/$pid/stat")).contains(_))

  private def contents(file: Path): String = Files.readString(file)

  test("a runtime that ends immediately is reported with its last words"):
    brokenDriver().start(resources(1)).map: outcome =>
      val message = outcome.swap.toOption.fold("")(_.message)
      assert(message.contains("code 3") && message.contains("out of order"), message)

  test("a runtime that never listens is given up and removed"):
    val pid = Files.createTempFile(scripts, "pid", "")
    def givenUp(within: Int): Future[Unit] =
      val driver = driverOf(s"echo $$$$ > $pid; exec sleep 600", startTimeout = within)
      driver.start(resources(1)).flatMap: outcome =>
        assert(outcome.left.exists(_.message.contains("did not listen")), outcome.toString)
        // On a busy machine the script may not have got this far.
        if contents(pid).isEmpty && within < 30_000 then givenUp(within * 4)
        else Future(assert(!handle(contents(pid).trim).exists(_.isAlive)))
    givenUp(2000)

  test("a missing binary is a failure, not an exception"):
    val driver = ProcessDriver(settings.copy(runtimeBinary = scripts.resolve("none")), blocking)
    driver.start(resources(1)).map(outcome => assert(outcome.isLeft))

  test("a runtime that ignores the end of its life line is killed with its children"):
    val child = scripts.resolve("child")
    val driver =
      driverOf(
        s"trap '' TERM; sleep 600 & echo $$! > $child; echo listening on 127.0.0.1:1; wait; wait; sleep 600"
      )
    for
      container <- started(driver)
      _ <- stopCompletely(driver, container)
    yield
      assert(!exists(container))
      assert(isEnded(contents(child).trim))

  test("packs see only the variables they are allowed to see"):
    val seen = scripts.resolve("environment")
    val driver = driverOf(s"env > $seen; echo listening on 127.0.0.1:1; cat > /dev/null")
    for
      container <- started(driver)
      _ <- driver.stop(container)
    yield
      val names = contents(seen).linesIterator.map(_.takeWhile(_ != '=')).toSet
      // The token is for the runtime, which gives programs a separate environment.
      val own = Set("PATH", "PWD", "SHLVL", "_", "OLDPWD", RuntimeAddress.TokenVariable)
      assertEquals(names -- own, Set.empty)

  test("a talkative runtime is never blocked by its own output"):
    val driver = driverOf("echo listening on 127.0.0.1:1; yes a line | head -c 20000000; exit 0")
    for
      container <- started(driver)
      exit <- container.exit
      _ <- driver.stop(container)
    yield assertEquals(exit.code, Some(0))
