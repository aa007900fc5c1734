package burst.invoker.driver
package sandbox

import burst.node.ServerAddress
import burst.protocol.BackendConfig
import java.nio.file.{Files, Path}
import scala.concurrent.ExecutionContext

/** A launcher that is a shell script, in which `$spec` is the line it was told first and `$orders` a file for
  * those it is told after that: what the driver does whatever the launcher does.
  */
final class ScriptedLauncher(script: String)(using blocking: ExecutionContext):
  val directory: Path = Files.createTempDirectory("burst-launcher")
  private val removals = directory.resolve("removed")
  private val occupied = directory.resolve("occupied")
  private val told = directory.resolve("told")
  private val ordered = directory.resolve("orders")

  private val binary = SandboxPrerequisites.script(
    directory.resolve("launcher.sh"),
    s"""if [ "$$2" = --remove ]; then
       |  echo "$$3" >> $removals
       |  if [ -e $occupied ]; then echo 'somebody is in it' >&2; exit 1; fi
       |  echo 1; exit
       |fi
       |orders=$ordered
       |read -r spec
       |echo "$$spec" >> $told
       |$script""".stripMargin
  )

  /** Whether somebody is in the control groups, who cannot be removed then. */
  def occupy(on: Boolean): Unit =
    val _ = if on then Files.createFile(occupied) else Files.deleteIfExists(occupied)

  def removed: Vector[String] = lines(removals)
  def specs: Vector[String] = lines(told)
  def orders: Vector[String] = lines(ordered)

  def driver(
      users: Option[UserRange] = None,
      limitedBy: String = "control groups of version 1",
      settings: SandboxSettings = SandboxPrerequisites.settings,
      servers: BackendConfig => Vector[ServerAddress] = _ => Vector.empty
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
        host = "10.0.0.7",
        BackendServers(servers),
        blocking
      )
    driver.open()
    driver

  private def lines(file: Path): Vector[String] =
    if Files.exists(file) then Files.readString(file).linesIterator.toVector else Vector.empty

object ScriptedLauncher:
  val Listens = "echo listening on 127.0.0.1:1"

  /** Takes down what it is told, and answers to each word with another. */
  def obeys(answers: (String, String)*): String =
    val cases = answers.map((word, answer) => s"*$word*) echo \"$answer\";;").mkString(" ")
    s"""$Listens; while read -r line; do echo "$$line" >> "$$orders"; case "$$line" in $cases esac; done"""
