package burst.standalone

import burst.invoker.driver.SetupException
import com.typesafe.config.ConfigException
import java.net.BindException
import java.util.concurrent.atomic.AtomicInteger
import org.slf4j.LoggerFactory
import scala.concurrent.duration.{Duration, DurationInt}
import scala.concurrent.{Await, Future}
import scala.util.control.NonFatal

/** `burst standalone` becomes this process. It says on standard output when it is ready, runs until SIGTERM
  * or SIGINT, and then ends in good order with code 0; with code 1 when it cannot start.
  */
object Main:

  def main(arguments: Array[String]): Unit =
    try
      val settings = Settings.load()
      val data = DataDirectory.open(settings.data)
      // Before the first logger, and on one thread: several that begin at once would complain of each other.
      System.setProperty("burst.logs", data.logs.toString)
      val log = LoggerFactory.getLogger("burst.standalone.Main")
      val starting = Platform.start(settings, data)
      val exitCode = AtomicInteger(0)
      Runtime.getRuntime.addShutdownHook(Thread(() => end(settings, starting, exitCode), "burst-stop"))
      try
        val platform = Await.result(starting, Duration.Inf)
        println(s"burst is ready on ${platform.url}")
      catch
        case NonFatal(problem) =>
          exitCode.set(1)
          log.info("the platform did not start", problem)
          throw problem
    catch
      case NonFatal(problem) =>
        System.err.println(s"burst: ${explain(problem)}")
        System.exit(1)

  /** Runs while the JVM shuts down, whatever made it do so. `halt` because the code of a signal would count
    * as a failure.
    */
  private def end(settings: Settings, starting: Future[Platform], exitCode: AtomicInteger): Unit =
    val deadline = settings.stopTimeout.fromNow
    try
      val platform = Await.result(starting, settings.stopTimeout)
      Await.result(
        platform.stop((deadline.timeLeft - 1.second).max(1.second)),
        deadline.timeLeft.max(1.second)
      )
    catch
      case NonFatal(problem) if exitCode.get == 0 =>
        System.err.println(s"burst: it did not stop in good order: ${problem.getMessage}")
        exitCode.set(1)
      case NonFatal(_) => ()
    Runtime.getRuntime.halt(exitCode.get)

  private def explain(problem: Throwable): String = problem match
    case setup: SetupException => setup.getMessage
    case config: ConfigException => s"a setting cannot be used: ${config.getMessage}"
    case argument: IllegalArgumentException => argument.getMessage
    case other =>
      Iterator.iterate(other)(_.getCause).takeWhile(_ != null).collectFirst { case bind: BindException =>
        bind
      } match
        case Some(bind) =>
          s"cannot listen there (${bind.getMessage}): is a platform running already? Give another --port."
        case None => s"the platform cannot start: $other (see burst.log in its data directory)"
