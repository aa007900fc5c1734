package burst.controller

import burst.controller.cluster.{ActorScheduling, Membership, Scheduling, SplitBrainLock, VersionCheck}
import burst.node.metrics.MetricsRegistry
import burst.node.traces.{TracedService, Traces}
import burst.node.{ClusterSettings, DataDirectory, Node, Role, Settings}
import java.util.concurrent.atomic.AtomicBoolean
import org.apache.pekko.actor.typed.scaladsl.Behaviors
import org.apache.pekko.actor.typed.{ActorSystem, DispatcherSelector}
import scala.concurrent.duration.FiniteDuration
import scala.concurrent.{ExecutionContext, Future}

/** The process of `burst controller`: a member of the cluster of controllers, which serves the API. */
object Main:
  def main(arguments: Array[String]): Unit = Node.run(Role.Controller)(start)

  private[burst] def start(settings: Settings, data: DataDirectory): Future[Node] =
    val bootstrap = BootstrapCredentials.of(settings.config, data)
    val config = VersionCheck.configured(SplitBrainLock.configured(bootstrap.config))
    given system: ActorSystem[Nothing] =
      ActorSystem[Nothing](Behaviors.empty[Nothing], ClusterSettings.SystemName, config)
    given ExecutionContext = system.executionContext
    val blocking = system.dispatchers.lookup(DispatcherSelector.blocking())
    for membership <- Future(Membership.begin(config))
    yield new Node:
      private val leaving = AtomicBoolean()
      private val metrics = MetricsRegistry.ofProcess()
      private val traces = Traces.from(config, metrics)
      private val spans = traces.of(TracedService.Controller, Traces.newInstance())
      private val started =
        membership.joined.flatMap: _ =>
          val scheduling = ActorScheduling.start(bootstrap.config, metrics, spans)
          // A failed start also leaves the cluster: in that case `lost` must not report that the others
          // continued without it.
          def own(its: Scheduling): Scheduling =
            def leave() =
              leaving.set(true)
              its.shutdown()
            its.copy(shutdown = () => leave())
          Wiring.start(bootstrap.config, storage => own(scheduling(storage)), metrics, spans = spans)

      val ready: Future[String] =
        for
          controller <- started
          url = DataDirectory.url(controller.scheme, controller.address)
          credentials <- Future(controller.credentials(bootstrap.guest))(using blocking)
          _ <- Future(bootstrap.write(url, credentials))(using blocking)
        yield s"burst controller is ready on $url"

      override def drain(bound: FiniteDuration): Future[Unit] = started.flatMap(_.drain(bound))

      /** Shuts down what was started. Before the node is a member, it has started nothing that does not end
        * with the process; if it lost its membership before it started, it never will.
        */
      def stop(bound: FiniteDuration): Future[Unit] =
        leaving.set(true)
        val hasBegun =
          membership.joined.isCompleted && (started.isCompleted || !membership.removed.isCompleted)
        if !hasBegun then Future.unit
        else
          started
            .transformWith(_.fold(_ => Future.unit, _.shutdown()))
            .andThen(_ => traces.close())(using blocking)

      override def lost: Future[String] = membership.removed.flatMap: _ =>
        if leaving.get then Future.never
        else
          Future.successful(
            "the other controllers went on without this one, as they could not reach each other: start it again"
          )
