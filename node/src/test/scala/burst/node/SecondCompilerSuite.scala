package burst.node

import java.nio.file.{Files, Path}
import java.util.concurrent.TimeUnit
import scala.concurrent.duration.DurationInt

class SecondCompilerSuite extends munit.FunSuite:
  override def munitTimeout = 3.minutes
  test("it goes after everything else, and nothing else does"):
    val java = Path.of(sys.props("java.home"), "bin", "java").toString
    val command = Vector(java, "-XX:-UseDynamicNumberOfCompilerThreads", "-cp", sys.props("java.class.path"))
    val process = ProcessBuilder((command :+ "burst.node.GivesWay")*).redirectErrorStream(true).start()
    try
      assert(process.waitFor(60, TimeUnit.SECONDS))
      assertEquals(String(process.getInputStream.readAllBytes()).linesIterator.toSeq.lastOption, Some("10 0"))
    finally process.destroyForcibly(): Unit

  test("where it is off it has no threads"):
    // As the tests' JVM runs.
    assertEquals(SecondCompiler.threads(), Vector.empty)

/** Says the priorities of the second compiler's threads, once all of them are lowered, and of its own. */
object GivesWay:
  def main(arguments: Array[String]): Unit =
    SecondCompiler.giveWay()
    val deadline = System.nanoTime + 30_000_000_000L
    def priorities = SecondCompiler.threads().map(nice)
    while priorities.contains("0") && System.nanoTime < deadline do Thread.sleep(20)
    println(
      s"${priorities.distinct.mkString(",")} ${nice(Files.readSymbolicLink(Path.of("/proc/thread-self")).getFileName.toString)}"
    )

  private def nice(thread: String): String =
    val stat = Files.readString(Path.of(s"/proc/self/task/$thread/stat"))
    // Counted from what follows the name, which may have anything in it.
    stat.substring(stat.lastIndexOf(')') + 2).split(' ')(16)
