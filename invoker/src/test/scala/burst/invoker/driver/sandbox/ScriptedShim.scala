package burst.invoker.driver
package sandbox

import burst.node.ServerAddress
import burst.protocol.BackendConfig
import java.nio.file.{Files, Path}
import scala.concurrent.ExecutionContext
import scala.concurrent.duration.DurationInt

/** A shim that is a shell script, in which `$spec` is the first line it received and `$orders` a file for the
  * later ones. It shows what the driver does for any behaviour of the shim.
  */
final class ScriptedShim(script: String)(using blocking: ExecutionContext):
  val directory: Path = Files.createTempDirectory("burst-shim")
  private val removals = directory.resolve("removed")
  private val occupied = directory.resolve("occupied")
  private val specsFile = directory.resolve("specs")
  private val ordersFile = directory.resolve("orders")
  private val later = directory.resolve("later")

  private val binary = SandboxPrerequisites.script(
    directory.resolve("shim.sh"),
    s"""if [ "$$2" = --remove ]; then
       |  echo "$$3" >> $removals
       |  if [ -e $occupied ]; then echo 'somebody is in it' >&2; exit 1; fi
       |  echo 1; exit
       |fi
       |orders=$ordersFile
       |later=$later
       |[ -e $later ] || mkfifo $later
       |read -r spec
       |echo "$$spec" >> $specsFile
       |$script""".stripMargin
  )

  /** Sets whether a process is in the control groups, which then cannot be removed. */
  def occupy(on: Boolean): Unit =
    val _ = if on then Files.createFile(occupied) else Files.deleteIfExists(occupied)

  def removed: Vector[String] = lines(removals)
  def specs: Vector[String] = lines(specsFile)
  def orders: Vector[String] = lines(ordersFile)

  def driver(
      users: Option[UserRange] = None,
      limitedBy: String = "control groups of version 1",
      settings: SandboxSettings = ScriptedShim.Settings,
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

  /** Makes the shim give the answer that is `Late`. */
  def answer(line: String): Unit =
    val _ = Files.writeString(later, s"$line\n")

object ScriptedShim:
  /** For scripts that end when their input does, however late on a busy machine: a script that is killed
    * removes nothing.
    */
  private val Settings = SandboxPrerequisites.settings.copy(stopGrace = 20.seconds)

  val Listens: String = listens(1)
  def listens(port: Int): String = s"echo listening on 127.0.0.1:$port"

  /** Records each line, and answers to each of these words with its counterpart. */
  def answering(answers: (String, String)*): String = answering(Listens, answers*)
  def answering(listens: String, answers: (String, String)*): String =
    val cases = answers.map((word, answer) => s"*$word*) echo \"$answer\";;").mkString(" ")
    s"""$listens; while read -r line; do echo "$$line" >> "$$orders"; case "$$line" in $cases esac; done"""

  /** An answer that the test gives at any time, with [[ScriptedShim.answer]]. */
  val Late = "$(cat $later)"
