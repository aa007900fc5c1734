package burst.node

import java.io.IOException
import java.nio.file.{Files, Path}
import java.util.concurrent.TimeUnit
import org.slf4j.LoggerFactory
import scala.jdk.StreamConverters.StreamHasToScala
import scala.util.{Try, Using}

/** The JVM's second compiler (C2) occupies a processor for as long as there is something to compile. Its
  * results pay off later; workers, and calls that wait now, take precedence.
  */
private[node] object SecondCompiler:
  /** A tenth of the share of threads at normal priority, but not nothing: the work has to be done eventually.
    */
  private val Priority = 10

  /** As in the kernel, which keeps 15 characters. */
  private val ThreadName = "C2 CompilerThre"
  private val Threads = Path.of("/proc/self/task")
  private val TimeoutSeconds = 10

  /** Works in a thread of its own, since the JVM has no call for it. A failure is logged. */
  def lowerPriority(): Unit =
    val thread = Thread(() => lower(), "burst-second-compiler")
    thread.setDaemon(true)
    thread.start()

  private def lower(): Unit =
    val found = threads()
    if found.nonEmpty then
      for problem <- renice(found).left.toOption do
        LoggerFactory.getLogger(getClass).info("the second compiler keeps its priority: {}", problem.sentence)

  /** The compiler's threads, by the kernel's numbers; none if it is off. */
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
      if !process.waitFor(TimeoutSeconds, TimeUnit.SECONDS) then
        val _ = process.destroyForcibly()
        Left(Problem.Late)
      else if process.exitValue != 0 then
        Left(Problem.Refused(String(process.getInputStream.readAllBytes()).trim))
      else Right(())
    catch case problem: IOException => Left(Problem.NotRun(problem.getMessage))

  /** Why `renice` failed. */
  private enum Problem:
    case Late
    case Refused(output: String)
    case NotRun(why: String)

    def sentence: String = this match
      case Late => s"renice does not end within $TimeoutSeconds s"
      case Refused(output) => output
      case NotRun(why) => why
