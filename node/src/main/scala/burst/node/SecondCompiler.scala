package burst.node

import java.io.IOException
import java.nio.file.{Files, Path}
import java.util.concurrent.TimeUnit
import org.slf4j.LoggerFactory
import scala.jdk.StreamConverters.StreamHasToScala
import scala.util.{Try, Using}

/** The JVM's second compiler (C2) takes a processor for as long as there is something to compile. What it
  * makes is of use later; workers, and calls that wait now, go before it.
  */
private[node] object SecondCompiler:
  /** A tenth of the share of those who have not given way, and not nothing: it has to be done some day. */
  private val Priority = 10

  /** As the kernel has it, which keeps 15 characters. */
  private val ThreadName = "C2 CompilerThre"
  private val Threads = Path.of("/proc/self/task")
  private val Patience = 10

  /** In a thread of its own, as the JVM has no call for that. Where it cannot be done, it is logged. */
  def giveWay(): Unit =
    val thread = Thread(() => lower(), "burst-second-compiler")
    thread.setDaemon(true)
    thread.start()

  private def lower(): Unit =
    val found = threads()
    if found.nonEmpty then
      for problem <- renice(found).left.toOption do
        LoggerFactory.getLogger(getClass).info("the second compiler keeps its priority: {}", problem.sentence)

  /** Its threads, as the kernel numbers them; none where it is off. */
  private[node] def threads(): Vector[String] =
    Using(Files.list(Threads))(_.toScala(Vector))
      .getOrElse(Vector.empty)
      .filter(thread => Try(Files.readString(thread.resolve("comm")).trim).toOption.contains(ThreadName))
      .map(_.getFileName.toString)

  private def renice(threads: Vector[String]): Either[Problem, Unit] =
    val command = Vector("renice", "-n", Priority.toString, "-p") ++ threads
    try
      val process = ProcessBuilder(command*).redirectErrorStream(true).start()
      process.getOutputStream.close()
      if !process.waitFor(Patience, TimeUnit.SECONDS) then
        val _ = process.destroyForcibly()
        Left(Problem.Late)
      else if process.exitValue != 0 then
        Left(Problem.Refused(String(process.getInputStream.readAllBytes()).trim))
      else Right(())
    catch case problem: IOException => Left(Problem.NotRun(problem.getMessage))

  /** Why `renice` did not do it. */
  private enum Problem:
    case Late
    case Refused(said: String)
    case NotRun(why: String)

    def sentence: String = this match
      case Late => s"renice does not end within $Patience s"
      case Refused(said) => said
      case NotRun(why) => why
