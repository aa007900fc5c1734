package burst.node

import com.typesafe.config.ConfigException
import java.net.BindException
import java.util.concurrent.atomic.AtomicInteger
import org.slf4j.LoggerFactory
import scala.annotation.unused
import scala.concurrent.duration.{Duration, DurationInt, FiniteDuration}
import scala.concurrent.{Await, ExecutionContext, Future}
import scala.util.control.NonFatal

/** A process of the platform, from the moment when it has something to stop. */
trait Node:
  /** Completes once it serves, with the text for standard output, or fails with the reason why it cannot. */
  def ready: Future[String]

  /** Accepts nothing more; completes when the current work is done, at the latest after `bound`. */
  def drain(@unused bound: FiniteDuration): Future[Unit] = Future.unit

  /** Stops in good order, within `bound`, whether it serves yet or not. */
  def stop(bound: FiniteDuration): Future[Unit]

  /** Completes, with the reason, when it can no longer serve, or never will, and has to be restarted. */
  def lost: Future[String] = Future.never

/** Runs a node as this process: reports when it is ready, runs until SIGTERM or SIGINT, and then stops in
  * good order with code 0; exits with code 1 and one sentence on standard error if it cannot start or go on.
  */
object Node:
  def run(role: Role)(start: (Settings, DataDirectory) => Future[Node]): Unit =
    NameCache.shorten()
    try
      val settings = Settings.load(role = role)
      val data = DataDirectory.open(settings.data)
      // Before the first logger, and on one thread: several that start at once would report conflicts with
      // each other.
      System.setProperty("burst-logs", data.logs.toString)
      System.setProperty("burst-log-format", settings.logFormat)
      val log = LoggerFactory.getLogger(classOf[Node])
      SecondCompiler.lowerPriority()
      val starting = begin(role, settings, data)(start)
      val exitCode = AtomicInteger(0)
      // A node that is lost before it serves reports that twice, on two threads: it is logged once.
      def isFirst(): Boolean = exitCode.compareAndSet(0, 1)
      Runtime.getRuntime.addShutdownHook(Thread(() => end(settings, starting, exitCode), "burst-stop"))
      try
        val node = Await.result(starting, Duration.Inf)
        // A node that is lost before it serves never will.
        node.lost.foreach { reason =>
          if isFirst() then
            log.error("this node ends: {}", reason)
            System.err.println(s"burst: $reason")
            System.exit(1)
        }(using ExecutionContext.global)
        println(Await.result(node.ready, Duration.Inf))
      catch
        case NonFatal(problem) =>
          log.info("the node did not start", problem)
          if isFirst() then throw problem
    catch
      case NonFatal(problem) =>
        System.err.println(s"burst: ${explain(problem)}")
        System.exit(1)

  /** Starts a node in this process, whatever the process is. Throws `SetupException`. */
  private[burst] def begin(role: Role, settings: Settings, data: DataDirectory)(
      start: (Settings, DataDirectory) => Future[Node]
  ): Future[Node] =
    ClusterSettings.from(settings.config).prepare(role)
    start(settings, data)

  /** Runs while the JVM shuts down, for whatever reason. It halts because the exit code of a signal would
    * count as a failure.
    */
  private def end(settings: Settings, starting: Future[Node], exitCode: AtomicInteger): Unit =
    try
      val node = Await.result(starting, settings.stopTimeout)
      drained(node, settings.drainTimeout)
      val deadline = settings.stopTimeout.fromNow
      Await.result(
        node.stop((deadline.timeLeft - 1.second).max(1.second)),
        deadline.timeLeft.max(1.second)
      )
    catch
      case NonFatal(problem) if exitCode.get == 0 =>
        System.err.println(s"burst: it did not stop in good order: ${problem.getMessage}")
        exitCode.set(1)
      case NonFatal(_) => ()
    Runtime.getRuntime.halt(exitCode.get)

  private def drained(node: Node, bound: FiniteDuration): Unit =
    // A node that has not begun has nothing to end.
    if bound > Duration.Zero && node.ready.value.exists(_.isSuccess) && !node.lost.isCompleted then
      try
        val _ = Await.ready(node.drain(bound), bound + 1.second)
      catch
        case NonFatal(problem) =>
          LoggerFactory.getLogger(classOf[Node]).warn("it stops with flares under way", problem)

  private[node] def explain(problem: Throwable): String = problem match
    case setup: SetupException => setup.getMessage
    case config: ConfigException => s"a setting cannot be used: ${config.getMessage}"
    case other =>
      Iterator.iterate(other)(_.getCause).takeWhile(_ != null).collectFirst { case bind: BindException =>
        bind
      } match
        case Some(bind) =>
          s"cannot listen there (${bind.getMessage}): if another process does, be it another user's platform, " +
            "give this one another --port, or another --node in a cluster."
        case None => s"cannot start: $other (see burst.log in its data directory)"
