package burst.node

import java.nio.file.{Files, Path}
import java.util.concurrent.TimeUnit
import scala.concurrent.duration.DurationInt

class SecondCompilerSuite extends munit.FunSuite:
  override def munitTimeout = 3.minutes
  test("the second compiler runs at a lower priority than all other threads"):
    val java = Path.of(sys.props("java.home"), "bin", "java").toString
    val command = Vector(java, "-XX:-UseDynamicNumberOfCompilerThreads", "-cp", sys.props("java.class.path"))
    val process = ProcessBuilder((command :+ "burst.node.PrintPriorities")*).redirectErrorStream(true).start()
    try
      assert(process.waitFor(60, TimeUnit.SECONDS))
      assertEquals(String(process.getInputStream.readAllBytes()).linesIterator.toSeq.lastOption, Some("10 0"))
    finally process.destroyForcibly(): Unit

  test("a second compiler that is off has no threads"):
    // The tests' JVM runs this way.
    assertEquals(SecondCompiler.threads(), Vector.empty)

/** Prints the priorities of the second compiler's threads, once all of them are lowered, and its own. */
object PrintPriorities:
  def main(arguments: Array[String]): Unit =
    SecondCompiler.lowerPriority()
    val deadline = System.nanoTime + 30_000_000_000L
    def priorities = SecondCompiler.threads().map(nice)
    while priorities.contains("0") && System.nanoTime < deadline do Thread.sleep(20)
    println(
      s"${priorities.distinct.mkString(",")} ${nice(Files.readSymbolicLink(Path.of("/proc/thread-self")).getFileName.toString)}"
    )

  private def nice(thread: String): String =
    val stat = Files.readString(Path.of(s"/proc/self/task/$thread/stat"))
    // Counted from after the name, which may contain anything.
    stat.substring(stat.lastIndexOf(')') + 2).split(' ')(16)
