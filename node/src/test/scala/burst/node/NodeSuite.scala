package burst.node

import java.nio.file.{Files, Path}
import java.util.concurrent.TimeUnit
import munit.FunSuite
import scala.concurrent.Future
import scala.concurrent.duration.{DurationInt, FiniteDuration}

/** How a process of the platform ends. */
class NodeSuite extends FunSuite:
  override def munitTimeout = 3.minutes

  test("a node that is lost before it serves reports the reason and ends"):
    val java = Path.of(System.getProperty("java.home"), "bin", "java").toString
    val data = Files.createTempDirectory("burst-data")
    val process = ProcessBuilder(
      java,
      "-cp",
      System.getProperty("java.class.path"),
      s"-Dburst.data=$data",
      "burst.node.LostBeforeItServes"
    ).redirectErrorStream(true).start()
    try
      assert(process.waitFor(60, TimeUnit.SECONDS), "the process keeps running")
      val output = String(process.getInputStream.readAllBytes()).trim
      assertEquals(process.exitValue, 1, output)
      assert(output.contains("burst: nobody waits for this one"), output)
    finally process.destroyForcibly(): Unit

  test("a setup problem is reported unchanged, and a library's exception with its type"):
    assertEquals(Node.explain(SetupException("burst.x is 1: give 2.")), "burst.x is 1: give 2.")
    assertEquals(
      Node.explain(IllegalArgumentException("requirement failed")),
      "cannot start: java.lang.IllegalArgumentException: requirement failed (see burst.log in its data " +
        "directory)"
    )

object LostBeforeItServes:
  def main(arguments: Array[String]): Unit = Node.run(Role.Standalone): (_, _) =>
    Future.successful:
      new Node:
        def ready: Future[String] = Future.never
        def stop(bound: FiniteDuration): Future[Unit] = Future.unit
        override def lost: Future[String] = Future.successful("nobody waits for this one")
