package burst.invoker

import burst.invoker.ControllerLink.Event
import burst.invoker.metrics.MetricsServer
import burst.node.metrics.MetricsRegistry
import burst.node.traces.Traces
import burst.node.{ClusterSettings, Node, Role, Settings, SetupException}
import burst.protocol.UnregisterInvoker
import burst.protocol.link.SessionEndpoint
import java.util.concurrent.{CompletableFuture, TimeUnit}
import org.apache.pekko.actor.typed.scaladsl.Behaviors
import org.apache.pekko.actor.typed.{ActorSystem, DispatcherSelector}
import scala.concurrent.duration.{DurationInt, FiniteDuration}
import scala.concurrent.{ExecutionContext, Future, Promise}

/** `burst invoker` becomes this process: an invoker that works for the controllers it was told of. */
object Main:
  /** How long this process's last words may take to leave it. */
  private val LastWords = 5.seconds

  def main(arguments: Array[String]): Unit = Node.run(Role.Invoker)((settings, _) => start(settings))

  private def start(settings: Settings): Future[Node] =
    val config = InvokerConfig.read(settings.config)
    given system: ActorSystem[Nothing] =
      ActorSystem[Nothing](Behaviors.empty[Nothing], ClusterSettings.SystemName, settings.config)
    given ExecutionContext = system.executionContext
    val blocking = system.dispatchers.lookup(DispatcherSelector.blocking())
    val cluster = ClusterSettings.from(settings.config)
    val joined = Promise[Unit]()
    val turnedAway = Promise[String]()
    val events = system.systemActorOf(
      Behaviors.receiveMessage[Event] {
        case Event.Joined =>
          joined.trySuccess(())
          Behaviors.same
        case Event.TurnedAway(reason) =>
          if !joined.tryFailure(SetupException(reason)) then turnedAway.trySuccess(reason)
          Behaviors.same
      },
      "burst-link-events"
    )
    for
      prepared <- Future(Wiring.prepare(config))(using blocking)
      metrics = MetricsRegistry.ofProcess()
      traces = Traces.from(settings.config, metrics)
      _ <- Future.traverse(config.metrics.toSeq)(MetricsServer.bind(_, metrics))
      endpoints = cluster.seedAddresses.map(SessionEndpoint.at)
      link = system.systemActorOf(
        ControllerLink(
          ControllerLink.Settings(endpoints, config.home, cluster.proof.asked, config.journalMemory),
          events
        ),
        "burst-controller-link"
      )
      running = prepared.start(link, metrics, traces)
    yield new Node:
      val ready = joined.future.map(_ => s"${running.packs}\nburst invoker ${config.id.value} is ready")
      override def lost: Future[String] = turnedAway.future
      override def drain(bound: FiniteDuration): Future[Unit] = running.drain(bound)
      def stop(bound: FiniteDuration): Future[Unit] =
        running
          .stop(bound)
          .flatMap: _ =>
            link ! UnregisterInvoker(config.id, running.ref, "it was stopped")
            // What was said is on its way when the system has terminated. A line to a controller that has died may
            // keep it from that, and nothing depends on such a line.
            system.terminate()
            val told = Future(traces.close())(using blocking)
            atMost(LastWords, system.whenTerminated.zip(told))

  /** Completes with `done`, and when so much time has passed. */
  private[invoker] def atMost(time: FiniteDuration, done: Future[Any]): Future[Unit] =
    val over = Promise[Unit]()
    done.onComplete(_ => over.trySuccess(()))(using ExecutionContext.parasitic)
    CompletableFuture
      .delayedExecutor(time.toMillis, TimeUnit.MILLISECONDS, _.run())
      .execute { () =>
        val _ = over.trySuccess(())
      }
    over.future
