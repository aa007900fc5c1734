package burst.controller

import burst.controller.cluster.DatabaseLease
import burst.controller.scheduler.ActorScheduling
import burst.node.{ClusterSettings, DataDirectory, Node, Role, Settings}
import java.util.concurrent.atomic.AtomicBoolean
import org.apache.pekko.actor.typed.scaladsl.Behaviors
import org.apache.pekko.actor.typed.{ActorSystem, DispatcherSelector}
import org.apache.pekko.cluster.typed.{Cluster, SelfRemoved, SelfUp, Subscribe}
import scala.concurrent.duration.FiniteDuration
import scala.concurrent.{ExecutionContext, Future, Promise}

/** `burst controller` becomes this process: a member of the cluster of controllers, which serves the API. */
object Main:
  def main(arguments: Array[String]): Unit = Node.run(Role.Controller)(start)

  private def start(settings: Settings, data: DataDirectory): Future[Node] =
    val owner = Owner.of(settings.config, data)
    val config = DatabaseLease.configured(owner.config)
    given system: ActorSystem[Nothing] =
      ActorSystem[Nothing](Behaviors.empty[Nothing], ClusterSettings.SystemName, config)
    given ExecutionContext = system.executionContext
    val blocking = system.dispatchers.lookup(DispatcherSelector.blocking())
    val (up, removed) = membership
    for
      _ <- up
      controller <- Wiring.start(owner.config, ActorScheduling.start(owner.config))
      url = DataDirectory.url(controller.scheme, controller.address)
      credentials <- Future(controller.credentials(owner.credentials))(using blocking)
      _ <- Future(credentials.foreach(owner.write(url, _)))(using blocking)
    yield new Node:
      private val leaving = AtomicBoolean()
      def greeting = s"burst controller is ready on $url"
      def stop(bound: FiniteDuration): Future[Unit] =
        leaving.set(true)
        controller.shutdown()
      override def lost: Future[String] = removed.flatMap: _ =>
        if leaving.get then Future.never
        else
          Future.successful(
            "the other controllers have excluded this one, as they could not reach it: start it again"
          )

  /** When this node is a member of the cluster, and when it is one no more. */
  private def membership(using system: ActorSystem[?]): (Future[Unit], Future[Unit]) =
    val (up, removed) = (Promise[Unit](), Promise[Unit]())
    val cluster = Cluster(system)
    cluster.subscriptions ! Subscribe(
      system.systemActorOf(
        Behaviors.receiveMessage[SelfUp] { _ =>
          up.trySuccess(())
          Behaviors.same
        },
        "burst-self-up"
      ),
      classOf[SelfUp]
    )
    cluster.subscriptions ! Subscribe(
      system.systemActorOf(
        Behaviors.receiveMessage[SelfRemoved] { _ =>
          removed.trySuccess(())
          Behaviors.same
        },
        "burst-self-removed"
      ),
      classOf[SelfRemoved]
    )
    (up.future, removed.future)
