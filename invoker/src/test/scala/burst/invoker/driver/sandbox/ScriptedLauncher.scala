package burst.invoker.driver
package sandbox

import java.nio.file.{Files, Path}
import scala.concurrent.ExecutionContext

/** A launcher that is a shell script, in which `$spec` is the line it was told first and `$removed` a file
  * with the prefixes it was asked to remove: what the driver does whatever the launcher does.
  */
final class ScriptedLauncher(script: String)(using blocking: ExecutionContext):
  val directory: Path = Files.createTempDirectory("burst-launcher")
  private val removals = directory.resolve("removed")
  private val told = directory.resolve("told")

  private val binary = SandboxPrerequisites.script(
    directory.resolve("launcher.sh"),
    s"""if [ "$$2" = --remove ]; then echo "$$3" >> $removals; echo 1; exit; fi
       |read -r spec
       |echo "$$spec" >> $told
       |$script""".stripMargin
  )

  def removed: Vector[String] = lines(removals)
  def specs: Vector[String] = lines(told)

  def driver(
      users: Option[UserRange] = None,
      limitedBy: String = "control groups of version 1",
      settings: SandboxSettings = SandboxPrerequisites.settings
  ): SandboxDriver =
    val driver =
      SandboxDriver(
        settings,
        binary,
        "me",
        directory.resolve("sandbox"),
        limitedBy,
        slots = 8,
        users,
        blocking
      )
    driver.open()
    driver

  private def lines(file: Path): Vector[String] =
    if Files.exists(file) then Files.readString(file).linesIterator.toVector else Vector.empty
