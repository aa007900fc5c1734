package burst.invoker

import burst.invoker.ControllerLink.Event
import burst.invoker.metrics.MetricsServer
import burst.node.metrics.MetricsRegistry
import burst.node.traces.Traces
import burst.node.{ClusterSettings, Node, Role, Settings, SetupException}
import burst.protocol.UnregisterInvoker
import burst.protocol.link.SessionEndpoint
import java.util.concurrent.atomic.AtomicBoolean
import java.util.concurrent.{CompletableFuture, TimeUnit}
import org.apache.pekko.actor.typed.scaladsl.Behaviors
import org.apache.pekko.actor.typed.{ActorRef, ActorSystem, DispatcherSelector, Terminated}
import scala.concurrent.duration.{DurationInt, FiniteDuration}
import scala.concurrent.{ExecutionContext, Future, Promise}

/** The process that `burst invoker` turns into: an invoker that works for the configured controllers. */
object Main:
  /** How long this process's last traces may take to reach their collector. */
  private val TracesTimeout = 5.seconds

  /** The last messages to the controller leave within a second, or not at all (Artery's
    * `shutdown-flush-timeout`).
    */
  private val TerminationTimeout = 2.seconds

  def main(arguments: Array[String]): Unit = Node.run(Role.Invoker)((settings, _) => start(settings))

  private[burst] def start(settings: Settings): Future[Node] =
    val config = InvokerConfig.read(settings.config)
    given system: ActorSystem[Nothing] =
      ActorSystem[Nothing](Behaviors.empty[Nothing], ClusterSettings.SystemName, settings.config)
    given ExecutionContext = system.executionContext
    val blocking = system.dispatchers.lookup(DispatcherSelector.blocking())
    val cluster = ClusterSettings.from(settings.config)
    val joined = Promise[Unit]()
    val unusable = Promise[String]()
    val stopping = AtomicBoolean()
    def giveUp(reason: String): Unit =
      if !stopping.get && !joined.tryFailure(SetupException(reason)) then unusable.trySuccess(reason): Unit
    val events = system.systemActorOf(
      Behaviors.receiveMessage[Event] {
        case Event.Joined =>
          joined.trySuccess(())
          Behaviors.same
        case Event.Refused(reason) =>
          giveUp(reason)
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
          ControllerLink.Settings(endpoints, config.home, cluster.proof.hint, config.journalMemory),
          events
        ),
        "burst-controller-link"
      )
      running = prepared.start(link, metrics, traces)
      _ = Seq(link, running.ref).foreach(watchPart(_)(giveUp))
    yield new Node:
      val ready = joined.future.map(_ => s"${running.packs}\nburst invoker ${config.id.value} is ready")
      override def lost: Future[String] = unusable.future
      override def drain(bound: FiniteDuration): Future[Unit] = running.drain(bound)
      def stop(bound: FiniteDuration): Future[Unit] =
        running
          .stop(bound)
          .flatMap: _ =>
            stopping.set(true)
            link ! UnregisterInvoker(config.id, running.ref, "it was stopped")
            // All messages are on their way when the system has terminated. A connection to a dead controller
            // can delay that, and nothing depends on such a connection.
            system.terminate()
            val tracesClosed = Future(traces.close())(using blocking)
            atMost(TracesTimeout, atMost(TerminationTimeout, system.whenTerminated).zip(tracesClosed))

  /** Ends the node when one of its parts has died of a defect: without it this process would exist and do
    * nothing.
    */
  private[invoker] def watchPart(part: ActorRef[Nothing])(report: String => Unit)(using
      system: ActorSystem[?]
  ): Unit =
    val watch = Behaviors.setup[Nothing]: context =>
      context.watch(part)
      Behaviors.receiveSignal[Nothing]:
        case (_, Terminated(_)) =>
          report(s"${part.path.name} died of a defect (see burst.log in its data directory): start it again.")
          Behaviors.stopped
    system.systemActorOf(watch, s"${part.path.name}-watch"): Unit

  /** Completes with `done`, or when the time has passed. */
  private[invoker] def atMost(time: FiniteDuration, done: Future[Any]): Future[Unit] =
    val over = Promise[Unit]()
    done.onComplete(_ => over.trySuccess(()))(using ExecutionContext.parasitic)
    CompletableFuture
      .delayedExecutor(time.toMillis, TimeUnit.MILLISECONDS, _.run())
      .execute { () =>
        val _ = over.trySuccess(())
      }
    over.future
