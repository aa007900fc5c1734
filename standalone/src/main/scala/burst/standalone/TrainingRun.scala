package burst.standalone

import burst.controller.{Main as Controller, Wiring}
import burst.invoker.Main as Invoker
import burst.node.metrics.MetricsRegistry
import burst.node.{DataDirectory, Node, Role, Settings}
import com.typesafe.config.ConfigFactory
import java.net.{InetAddress, ServerSocket}
import java.nio.file.{Files, Path}
import org.apache.pekko.actor.typed.{ActorSystem, Extension, ExtensionId}
import scala.concurrent.duration.DurationInt
import scala.concurrent.{Await, Future}
import scala.util.{Failure, Try, Using}

/** Does what only nodes of a cluster do, in the JVM of a platform that saves its classes (`save-classes.sh`),
  * as it saves only those that it has used: an extension of Pekko, enabled by a setting. The cluster is
  * called as often as `BURST_TRAINING_CALLS` says. If something fails, the classes used until then are still
  * saved.
  */
final class TrainingRun extends Extension

object TrainingRun extends ExtensionId[TrainingRun]:
  private val AwaitTimeout = 60.seconds
  private val StopBound = 5.seconds

  /** An address where nobody listens. */
  private val UnusedAddress = "127.0.0.1:1"

  def createExtension(system: ActorSystem[?]): TrainingRun =
    val own = Path.of(system.settings.config.getString("burst.data")).toAbsolutePath
    val directory = Files.createTempDirectory(own, "training-")
    attempt("a cluster")(runCluster(directory))
    val data = s"burst.data = \"$directory/stores\""
    attempt("a bucket")(store(
      s"""$data
      burst.store.s3 { url = "s3://bucket", endpoint = "http://$UnusedAddress", access-key = "k", secret-key = "s" }"""
    ))
    attempt("PostgreSQL")(store(s"""$data
      burst.store.postgresql { url = "postgresql://$UnusedAddress/burst", connect-timeout = 300ms }"""))
    new TrainingRun

  private def attempt(what: String)(work: => Unit): Unit = Try(work) match
    case Failure(problem) => System.err.println(s"training run, $what: $problem")
    case _ => ()

  /** Runs a controller, an invoker, and calls that go through both. */
  private def runCluster(directory: Path): Unit =
    val port = Using.resource(ServerSocket(0, 1, InetAddress.getLoopbackAddress))(_.getLocalPort)
    val first = directory.resolve("controller")
    val controller = begin(Role.Controller, first, s"cluster.port = $port")(Controller.start)
    try runInvoker(directory, first, port, controller)
    finally end(controller)

  private def runInvoker(directory: Path, first: Path, port: Int, controller: Node): Unit =
    val second =
      s"cluster { seeds = [\"127.0.0.1:$port\"], key = \"$first/cluster.pem\" }, invoker.id = second"
    val invoker =
      begin(Role.Invoker, directory.resolve("invoker"), second)((settings, _) => Invoker.start(settings))
    try
      val url = await(controller.ready).split(' ').last
      await(invoker.ready)
      val properties = Files.readString(first.resolve("properties")).linesIterator
      val calls = sys.env.get("BURST_TRAINING_CALLS").fold(2)(_.toInt)
      properties.collectFirst { case s"AUTH=$key" => key }.foreach(Training.train(url, _, calls))
    finally end(invoker)

  private def end(node: Node): Unit =
    await(node.drain(StopBound))
    await(node.stop(StopBound))

  private def begin(role: Role, directory: Path, own: String)(
      start: (Settings, DataDirectory) => Future[Node]
  ): Node =
    val settings = load(s"burst { data = \"$directory\", http.port = 0, $own }", role)
    await(Node.begin(role, settings, DataDirectory.open(settings.data))(start))

  /** Opens a store as far as possible when nobody answers. */
  private def store(own: String): Unit =
    val config = load(own, Role.Standalone).config
    Try(Wiring.storage(config, MetricsRegistry())).foreach(_.close())

  private def load(own: String, role: Role): Settings =
    // Prevents this extension from being loaded again there.
    val alone = ConfigFactory.parseString("pekko.actor.typed.extensions = []")
    val config = ConfigFactory.parseString(own).withFallback(alone)
    Settings.load(config.withFallback(ConfigFactory.defaultApplication()), role)

  private def await[A](future: Future[A]): A = Await.result(future, AwaitTimeout)
